"""What the calculus needs to know of one layer with weights: its size, and how far two of its kind are apart."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import nn

from netpact.algebra.outward import round_up_float
from netpact.core.errors import PactError
from netpact.network.kinds import KINDS, LayerDistance, LayerSize


@dataclass(frozen=True, kw_only=True)
class LayerBounds:
    """size is that of the network that is compared with the one that is run.

    difference  where both networks are known, a layer with the weights W - W^ and the bias b - b^
    """

    size: LayerSize
    distance: LayerDistance
    difference: nn.Module | None = None


def compare(*, run: nn.Module, other: nn.Module) -> LayerBounds:
    """Both layers are known: the size is that of the other one."""
    distance = measure_distance(run, other)
    difference = KINDS.of(run).difference(run, other)
    return LayerBounds(size=measure_size(other), distance=distance, difference=difference)


def widen(layer: nn.Module, distance: LayerDistance) -> LayerBounds:
    """Only how far the other layer may be is known:  |W| <= |W^| + |W - W^|."""
    known = measure_size(layer)
    size = replace(
        known,
        gain=round_up_float(known.gain + distance.weights),
        roughness=round_up_float(known.roughness + known.spill * distance.weights),
        offset=round_up_float(known.offset + distance.shift),
        mean=round_up_float(known.mean + distance.shift),
    )
    return LayerBounds(size=size, distance=distance)


def measure_size(layer: nn.Module) -> LayerSize:
    return KINDS.of(layer).size(layer)


def measure_distance(first: nn.Module, second: nn.Module) -> LayerDistance:
    """Two layers of one kind and shape. Equal layers are exactly 0 apart."""
    if type(first) is not type(second) or repr(first) != repr(second):
        raise PactError(f"two layers of one kind are needed, got {first!r} and {second!r}", where="layer")
    pair = [{**dict(part.named_parameters()), **dict(part.named_buffers())} for part in (first, second)]
    if pair[0].keys() != pair[1].keys() or any(pair[0][name].shape != pair[1][name].shape for name in pair[0]):
        raise PactError(f"the tensors of {first!r} have other names or shapes than those of {second!r}", where="layer")
    if all(torch.equal(pair[0][name].double(), pair[1][name].double()) for name in pair[0]):
        return LayerDistance(weights=0.0, shift=0.0)
    return KINDS.of(first).distance(first, second)
