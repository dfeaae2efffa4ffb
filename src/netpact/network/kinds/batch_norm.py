"""nn.BatchNorm1d and nn.BatchNorm2d in eval mode: scale x + shift in each channel."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from netpact.algebra.outward import length_up, round_up_float
from netpact.core.errors import PactError
from netpact.models.folding import NormAffine
from netpact.network.kinds.kind import Layer, LayerDistance, LayerKind, LayerSize, NormBounds, Shape
from netpact.network.kinds.table import KINDS
from netpact.network.rounding.sum_rules import LEAST_VARIANCE, NORM_ROUNDINGS, refuse_cancelling
from netpact.network.rounding.tolerance import NoRuleError

_UNIT = 2.0**-53
_STEEPEST = LEAST_VARIANCE**-0.5  # what it multiplies by before its weight can make it smaller


@dataclass(frozen=True)
class _Parts:
    """What is computed, and what its roundings are proportional to."""

    scale: Tensor
    shift: Tensor
    offset: Tensor
    mean: Tensor


def _parts(layer: Layer) -> _Parts:
    try:
        refuse_cancelling(layer.running_var.double(), layer.eps)
    except NoRuleError as reason:
        raise PactError(f"no bound is known for batch norm {reason}", where="layer") from reason
    affine, mean = NormAffine.of(layer, where="layer"), layer.running_mean.double()
    bias = torch.zeros_like(mean) if layer.bias is None else layer.bias.detach().double()
    return _Parts(affine.scale, affine.shift, (affine.scale * mean).abs() + bias.abs(), mean)


def _norm(layer: Layer, shape: Shape | None) -> NormBounds:
    """max |weight / sqrt(variance + eps)|, up to the rounding of the three operations."""
    if layer.running_var is None or not bool((layer.running_var + layer.eps > 0).all()):
        return None, None
    deviation = (layer.running_var.double() + layer.eps).sqrt()
    weight = torch.ones_like(deviation) if layer.weight is None else layer.weight.detach().double()
    largest = float((weight / deviation).abs().max())
    return largest * (1 - 4 * _UNIT), largest * (1 + 4 * _UNIT)


def _size(layer: Layer) -> LayerSize:
    parts = _parts(layer)
    gain = round_up_float(float(parts.scale.abs().max()))
    return LayerSize(
        gain=gain,
        roughness=gain,
        offset=length_up(parts.offset),
        spill=1.0,
        terms=NORM_ROUNDINGS,
        biases=layer.num_features,
        mean=length_up(parts.mean),
        steepest=_STEEPEST,
    )


def _distance(first: Layer, second: Layer) -> LayerDistance:
    """Differences of numbers that were rounded a few times themselves: what that may hide is added."""
    one, other = _parts(first), _parts(second)
    hidden = 16 * _UNIT
    scale = (one.scale - other.scale).abs() + hidden * (one.scale.abs() + other.scale.abs())
    offsets = hidden * (one.offset + other.offset)
    shifts = [
        length_up((one.shift - other.shift).abs() + offsets),
        length_up((one.offset - other.offset).abs() + offsets),
        length_up(one.mean - other.mean),
    ]
    return LayerDistance(weights=round_up_float(float(scale.max())), shift=round_up_float(max(shifts)))


def _difference(first: Layer, second: Layer) -> Layer:
    """A batch norm of statistics 0 and 1 whose weight and bias are the differences of scales and shifts."""
    one, other = _parts(first), _parts(second)
    difference = type(first)(len(one.scale), eps=0.0).double().eval()
    with torch.no_grad():
        difference.weight.copy_(one.scale - other.scale)
        difference.bias.copy_(one.shift - other.shift)
    return difference


KINDS.add(
    LayerKind(
        name="batch_norm",
        types={nn.BatchNorm1d: (2, 3), nn.BatchNorm2d: (4,)},
        norm=_norm,
        size=_size,
        distance=_distance,
        difference=_difference,
        shifts=lambda layer: True,
    )
)
