"""From decoded tensors to a running module."""

from __future__ import annotations

import copy
from typing import Protocol

import numpy as np
import torch
from torch import nn

from netpact.coding.format.arithmetic import keep_arithmetic
from netpact.coding.format.compressed import PRECISIONS, WHOLE, Compressed, is_relative
from netpact.coding.format.layout import rewrite
from netpact.coding.format.placing import MESSAGE, placed
from netpact.coding.forms import CodedTensor, Weights, needs_base
from netpact.core.errors import PactError
from netpact.models import OwnModule, sketch


class Base(Protocol):
    """The tensors of a base network, as whoever decodes supplies them."""

    def tensor(self, name: str, shape: tuple[int, ...]) -> Weights: ...


_DTYPES = {"float32": torch.float32, "float64": torch.float64}


def open_network(compressed: Compressed, module: nn.Module | None, base: Base | None = None) -> nn.Module:
    """The network as it is handed out: a user's module is copied, and it computes as a certificate assumes."""
    return keep_arithmetic(load_module(compressed, copy.deepcopy(module), base), compressed.arithmetic)


def load_module(compressed: Compressed, module: nn.Module | None, base: Base | None = None) -> nn.Module:
    """Rewrite and fill a module of the right architecture: the one given is changed.

    Every tensor is spoiled first: what the message does not set is seen.
    """
    refuse_wrong_base(compressed, base)
    if module is None:
        if isinstance(compressed.architecture, OwnModule):
            raise PactError("the tensors of a user's own module need that module", where="message")
        # The decoder has checked the number of parameters against the caller's limit.
        target = rewrite(sketch(compressed.architecture), compressed.rewrites).to_empty(device="cpu")
    else:
        target = rewrite(module, compressed.rewrites)
    target = target.eval().to(_DTYPES[PRECISIONS[compressed.arithmetic]])
    tensors = {**dict(target.named_parameters()), **dict(target.named_buffers())}
    found = {(name, tuple(tensor.shape)) for name, tensor in tensors.items()}
    if other := found ^ {(name, coded.shape) for name, coded in compressed.tensors.items()}:
        # Also met where two layers share a buffer: a change of precision makes two of it.
        names = sorted({name for name, _ in other})
        raise PactError(
            f"message and module differ in {', '.join(names)}",
            where="module",
            hint="supply the module that the file was made from; register a buffer in one layer only",
        )
    for tensor in tensors.values():
        spoil(tensor)
    for name, coded in compressed.tensors.items():
        with placed(f"{MESSAGE}, tensor {name}"):
            weights = torch.from_numpy(_weights(name, coded, base))
        refuse_lossy(weights, tensors[name].dtype, where=name)
        with torch.no_grad():
            tensors[name].copy_(weights)
        if not torch.isfinite(tensors[name]).all():
            raise PactError(f"the weights overflow {compressed.arithmetic}", where=name)
    for parameter in target.parameters():
        parameter.requires_grad_(False)
    if compressed.arithmetic == WHOLE:
        from netpact.layers.whole.proving import settle_layers  # few messages ask for it: the others import less

        with placed(MESSAGE):
            settle_layers(target)
    return target


def _weights(name: str, coded: CodedTensor, base: Base | None) -> Weights:
    """One sum for each entry, in float64: the same on every machine."""
    if base is None or not needs_base(coded.form):
        return coded.weights()
    return np.asarray(base.tensor(name, coded.shape) + coded.weights())  # numpy makes numbers of sums without axes


def refuse_wrong_base(compressed: Compressed, base: Base | None) -> None:
    """A message that needs a base cannot do without, and one that does not need it has no use for it."""
    if is_relative(compressed) and base is None:
        raise PactError(
            "this message encodes a network against a base network",
            where="message",
            hint="supply it: base=open_base(path) in Python, --base FILE on the command line",
        )
    if base is not None and not is_relative(compressed):
        raise PactError("this message needs no base network", where="message", hint="leave the base out")


def refuse_lossy(weights: torch.Tensor, dtype: torch.dtype, *, where: str) -> None:
    """What goes into an integer tensor must be an integer and fit: machines convert anything else differently."""
    if dtype.is_floating_point or dtype.is_complex:
        return
    lowest, beyond = (0, 2) if dtype == torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max + 1)
    if not bool(((weights == weights.round()) & (weights >= float(lowest)) & (weights < float(beyond))).all()):
        raise PactError(f"a tensor of type {dtype} takes integers from {lowest} to {beyond - 1}", where=where)


@torch.no_grad()
def spoil(tensor: torch.Tensor) -> None:
    """NaN where the type has it, else the smallest number, so that a tensor nobody sets cannot pass unnoticed."""
    if tensor.is_floating_point() or tensor.is_complex():
        tensor.fill_(torch.nan)
    elif tensor.dtype == torch.bool:
        tensor.logical_not_()
    else:
        tensor.fill_(torch.iinfo(tensor.dtype).min)
