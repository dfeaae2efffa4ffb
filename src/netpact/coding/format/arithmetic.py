"""The decoded network computes as its certificate assumes, whatever the program around it has switched on.

A certificate covers sums and products in the stated precision, in any order. Torch can do something else by itself:

    NNPACK      computes float32 convolutions by Winograd or Fourier transforms where oneDNN is off and 16 samples or
                more come at once: an output then carries errors of pixels that its own sum does not hold
    cuDNN       may choose such an algorithm too, and uses TF32 for convolutions unless told not to
    precision   set_float32_matmul_precision, fp32_precision and allow_tf32 let float32 products run in bfloat16 or TF32
    autocast    runs float32 layers in a 16-bit format
    fast paths  TransformerEncoder and MultiheadAttention in eval mode: other kernels than those of the layers they are
                made of, which set the outputs of padded places to 0

So each call of the network, and of each of its linear and convolution layers, runs with these switched off and puts
them back afterwards. That takes some ten microseconds. Raising an error instead would leave the network unusable where
torch's defaults are in the way, and hooks would not put things back after Ctrl-C; `forward` is therefore replaced on
the instance, which keeps types, names of parameters, copies and pickles as they were.

Reduced-precision reductions of torch concern 16-bit numbers only, and a network turned into those is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import Signature, signature

import torch
from torch import nn

from netpact.coding.format.compressed import PRECISIONS
from netpact.core.errors import PactError
from netpact.layers.process_settings import PLAIN

_BITS = {torch.float32: 32, torch.float64: 64, torch.float16: 16, torch.bfloat16: 16}
_DEVICES = ("cpu", "cuda", "meta")  # on others nobody can say which algorithm a convolution takes


def keep_arithmetic(module: nn.Module, arithmetic: str) -> nn.Module:
    """Make every call of the module run as a certificate for this precision assumes. Changes the module given."""
    layers = [part for part in module.modules() if isinstance(part, (nn.Linear, nn.modules.conv._ConvNd))]
    for part in {id(part): part for part in (module, *layers)}.values():
        part.forward = _Plainly(_run_plainly, part, arithmetic, part.forward)
    return module


class _Plainly(partial):  # type: ignore[type-arg]
    """Says what the forward that it runs says of its arguments: exporters look at names and defaults."""

    @property
    def __signature__(self) -> Signature:
        return signature(self.args[-1])


def _run_plainly(
    module: nn.Module, arithmetic: str, forward: Callable[..., object], *inputs: object, **named: object
) -> object:
    if torch.compiler.is_compiling():  # locks and settings cannot be compiled: docs/networks.md says what then holds
        return forward(*inputs, **named)
    device = _refuse_other_numbers(module, arithmetic)
    with PLAIN:
        if not torch.is_autocast_enabled(device):
            return forward(*inputs, **named)
        with torch.autocast(device, enabled=False):
            return forward(*inputs, **named)


def _refuse_other_numbers(module: nn.Module, arithmetic: str) -> str:
    """The type of the device. Refuses what was turned into a coarser precision, or moved where nothing is known."""
    parameter = next(module.parameters())
    if _BITS.get(parameter.dtype, 0) < _BITS[getattr(torch, PRECISIONS[arithmetic])]:
        raise PactError(
            f"the network was turned into {parameter.dtype}, its file is about {PRECISIONS[arithmetic]}",
            where=type(module).__name__,
            hint=f"keep it in {PRECISIONS[arithmetic]}: nothing is proven about a coarser one",
        )
    if parameter.device.type not in _DEVICES:
        raise PactError(
            f"the network is on {parameter.device}: how sums are computed there cannot be chosen",
            where=type(module).__name__,
            hint=f"move it to one of {', '.join(_DEVICES[:2])}",
        )
    return parameter.device.type
