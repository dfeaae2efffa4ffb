"""Which channels of a network can be removed together.

One run of the network is followed entry by entry: every entry of every tensor carries a label that says which filter
made it. Moves take labels along as they take values; a sum joins the labels of its two sides; where a channel of zeros
would not stay one, or the shapes are fixed by something else, the labels must stay. Labels that were joined are one
unit: its filters are kept or removed together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from netpact.core.seed import Seed
from netpact.network.channel_labels import Follower

Units = NDArray[np.int64]
_SAMPLES = 2
STAYS = -1


@dataclass(frozen=True, eq=False)
class LayerUnits:
    """A linear layer, a convolution without groups or a batch norm: the unit of each output and of each input.

    is_filter  whether its outputs are filters of its own; those of a batch norm are those of what it reads
    """

    outputs: Units
    inputs: Units
    is_filter: bool


@dataclass(frozen=True, eq=False)
class Channels:
    """units are numbered from 0; -1 stands for a channel that must stay.

    layers   by name, in the order in which they run
    reasons  by name of a layer: why all its filters stay
    """

    layers: Mapping[str, LayerUnits]
    reasons: Mapping[str, str]
    count: int

    @cached_property
    def groups(self) -> Mapping[tuple[str, ...], Units]:
        """The units by the layers whose filters they are."""
        makers: dict[int, list[str]] = {}
        for name, layer in self.layers.items():
            if layer.is_filter:
                for unit in np.unique(layer.outputs[layer.outputs != STAYS]):
                    makers.setdefault(int(unit), []).append(name)
        found: dict[tuple[str, ...], list[int]] = {}
        for unit in sorted(makers):
            found.setdefault(tuple(makers[unit]), []).append(unit)
        return MappingProxyType({names: np.array(units, dtype=np.int64) for names, units in found.items()})

    def without(self, fixed: Units, reason: str) -> Channels:
        """With these units among those that stay; the others are numbered anew."""
        stays = np.zeros(self.count + 1, dtype=np.bool_)
        stays[fixed] = True
        stays[STAYS] = True
        numbers = np.where(stays, STAYS, np.cumsum(~stays) - 1)
        layers = {
            name: LayerUnits(numbers[layer.outputs], numbers[layer.inputs], layer.is_filter)
            for name, layer in self.layers.items()
        }
        reasons = dict(self.reasons)
        for name, layer in layers.items():
            if layer.is_filter and (layer.outputs == STAYS).all():
                reasons.setdefault(name, reason)
        return Channels(layers, reasons, int(np.count_nonzero(~stays)))


@torch.no_grad()
def find_channels(module: nn.Module, input_shape: tuple[int, ...]) -> Channels:
    """Follow one run of a module in eval mode that trace accepts; the weights do not matter, and are not changed."""
    follower = Follower(module)
    x = probe_inputs(input_shape, count=_SAMPLES).to(next(module.parameters()).dtype)
    with torch.random.fork_rng(devices=[]), follower.watching(module, x) as given:
        output = module(given)
    follower.finish(output)
    roots, fixed = follower.labels.resolve()
    numbers = np.full(len(roots), STAYS, dtype=np.int64)
    free = np.unique(roots[~fixed])
    made = np.concatenate(
        [np.zeros(0, dtype=np.int64), *(layer.outputs for layer in follower.layers.values() if layer.is_filter)]
    )
    free = free[np.isin(free, roots[made])]  # labels that a filter made
    numbers[free] = np.arange(len(free))
    layers = {
        name: LayerUnits(numbers[roots[layer.outputs]], numbers[roots[layer.inputs]], layer.is_filter)
        for name, layer in follower.layers.items()
    }
    reasons = {
        name: follower.labels.reason(layer.outputs) for name, layer in follower.layers.items() if layer.is_filter
    }
    return Channels(layers, {name: reason for name, reason in reasons.items() if reason}, len(free))


def probe_inputs(input_shape: tuple[int, ...], *, count: int) -> torch.Tensor:
    """Samples from 0 to 1, the range that every stem takes."""
    drawn = Seed(0).child("channels").numpy().random((count, *input_shape), dtype=np.float32)
    return torch.from_numpy(drawn)
