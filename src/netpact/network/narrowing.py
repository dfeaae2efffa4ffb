"""A network without some of its channels, and what it computes: the same as with those channels at 0."""

from __future__ import annotations

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.layers.rewrites import RemoveChannels, Step, apply_steps, number_of
from netpact.network.channels import STAYS, Channels, LayerUnits, find_channels, probe_inputs
from netpact.network.probing import PROBE, RUN_ERRORS

Kept = NDArray[np.bool_]
_SAME = 1e-6  # of the largest logit: two float64 runs differ by far less, two different networks by far more
_OWN_SIZES = "its own code depends on the number of channels"


def find_removable(module: nn.Module, input_shape: tuple[int, ...]) -> Channels:
    """The units of find_channels that can really be removed: of each group one is, and the network compared.

    A program may hold numbers of channels (view(-1, 400), x[:, :16]) that no rewrite changes.
    """
    channels = find_channels(module, input_shape)
    twin = copy.deepcopy(module).double().eval()
    for names in list(channels.groups):
        units = channels.groups[names]
        kept = np.ones(channels.count, dtype=np.bool_)
        kept[units[len(units) // 2]] = False
        if len(units) < 2 or difference(twin, channels, kept, input_shape):
            reason = _OWN_SIZES if len(units) > 1 else "it has one filter that could be removed"
            channels = channels.without(units, reason)
    return channels


def narrow(module: nn.Module, channels: Channels, kept: Kept) -> tuple[nn.Module, tuple[Step, ...]]:
    """A copy of the module with the units that are kept, and the rewrites that its structure takes."""
    made, steps = copy.deepcopy(module), list[Step]()
    for name, layer in channels.layers.items():
        outputs, inputs = chosen(layer, kept)
        if len(outputs) == len(layer.outputs) and len(inputs) == len(layer.inputs):
            continue
        part = made.get_submodule(name)
        step = Step(number_of(made, part), RemoveChannels(len(outputs), len(inputs)))
        old = _tensors(part)
        made = apply_steps(made, [step])
        steps.append(step)
        with torch.no_grad():
            for key, tensor in _tensors(made.get_submodule(name)).items():
                tensor.copy_(cut(old[key], layer, outputs, inputs))
                tensor.requires_grad_(old[key].requires_grad)
    # A list of rewrites has one way to be written: by the place of the layer.
    return made, tuple(sorted(steps, key=lambda step: step.layer))


@torch.no_grad()
def mask(module: nn.Module, channels: Channels, kept: Kept) -> nn.Module:
    """A copy whose channels that are not kept are 0: the filter, its bias, and what batch norm makes of it."""
    made = copy.deepcopy(module)
    for name, layer in channels.layers.items():
        gone = torch.from_numpy(np.setdiff1d(np.arange(len(layer.outputs)), chosen(layer, kept)[0]))
        silence(made.get_submodule(name), gone)
    return made


def silence(part: nn.Module, gone: Tensor) -> None:
    """Outputs of a layer that are to be 0, where its inputs are, for batch norm."""
    for key, tensor in _tensors(part).items():
        if key in ("weight", "bias", "running_mean"):
            tensor[gone] = 0


def difference(module: nn.Module, channels: Channels, kept: Kept, input_shape: tuple[int, ...]) -> str:
    """What is wrong with the narrow network, beside the masked one, on a few inputs; empty if they agree."""
    x = probe_inputs(input_shape, count=PROBE).double()
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        wanted = mask(module, channels, kept).double().eval()(x.clone())
        try:
            found = narrow(module, channels, kept)[0].double().eval()(x.clone())
        except RUN_ERRORS as error:
            return f"the network with fewer channels does not run: {error}"
    finite = wanted[torch.isfinite(wanted)]
    size = 1 + float(finite.abs().max()) if len(finite) else 1.0
    same = found.shape == wanted.shape and torch.allclose(wanted, found, rtol=0.0, atol=_SAME * size, equal_nan=True)
    return "" if same else "the network with fewer channels computes something else"


def refuse_difference(module: nn.Module, channels: Channels, kept: Kept, input_shape: tuple[int, ...]) -> None:
    if problem := difference(module, channels, kept, input_shape):
        hint = "forward must not depend on the number of channels: use flatten(1) and sizes of tensors"
        raise PactError(problem, where=type(module).__name__, hint=hint)


def chosen(layer: LayerUnits, kept: Kept) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of the outputs and inputs that stay."""
    stays = np.append(kept, True)  # the last one is the -1 of channels that must stay
    assert STAYS == -1
    return np.flatnonzero(stays[layer.outputs]), np.flatnonzero(stays[layer.inputs])


def cut(tensor: Tensor, layer: LayerUnits, outputs: NDArray[np.int64], inputs: NDArray[np.int64]) -> Tensor:
    if not tensor.dim():
        return tensor  # a counter of batches
    rows = tensor.detach()[torch.from_numpy(outputs)]
    return rows[:, torch.from_numpy(inputs)] if layer.is_filter and tensor.dim() > 1 else rows


def _tensors(part: nn.Module) -> dict[str, Tensor]:
    return {**dict(part.named_parameters()), **dict(part.named_buffers())}
