"""The size of a layer, and the distance of two, for each kind of layer that has weights."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from netpact.algebra import operator_norm
from netpact.core.errors import PactError
from netpact.deviations.outward import length_up, round_up_float
from netpact.layers import ChannelAffine
from netpact.network.rounding.sum_rules import refuse_cancelling
from netpact.network.rounding.tolerance import NoRuleError

_UNIT = 2.0**-53
_NORM_ROUNDINGS = 10  # of batch norm in whatever order, as in the rounding rules
_CHANNEL_TERMS = 2

# Layers of the kinds in the table below; torch's own types for their attributes are too wide to be of use.
Layer = Any


@dataclass(frozen=True, kw_only=True)
class LayerSize:
    """Upper bounds for one layer x -> W x + b.

    gain       |W|_op, for every image size
    roughness  the operator norm of the layer with |W| in place of W: what rounding errors are proportional to
    offset     |b|_2 of one place of the image; for batch norm of |scale * mean| + |b|
    mean       |mean|_2 of batch norm, else 0
    is_norm    batch norm, which has steps of its own on the way
    spill      an upper bound on roughness of a change of norm 1
    terms      how many products are summed for one output, the bias included
    """

    gain: float
    roughness: float
    offset: float
    mean: float
    spill: float
    terms: int
    is_norm: bool = False


@dataclass(frozen=True, kw_only=True)
class LayerDistance:
    """weights >= |W - W^|_op for every image size; shift >= |b - b^|_2 of one place of the image.

    For batch norm W is diag(scale) and b = bias - scale * mean; shift bounds the distance of the means and of the
    offsets |scale * mean| + |bias| as well, which its rounding depends on.
    """

    weights: float
    shift: float


def _wide(tensor: Tensor) -> Tensor:
    return tensor.detach().double()


def _size_of_weights(layer: Layer) -> LayerSize:
    """Linear and convolution layers. Sums of |W| over the taps bound the layer with |W|, for every image size:

        |conv(|W|)|_op <= | sum_taps |W_tap| |_2 <= | sum_taps |W_tap| |_F

    and a change D with |D|_op <= 1 for every image size has |D|_F <= sqrt(outputs), since |D|_F^2 is the mean of
    |symbol|_F^2 over all frequencies; summing over the taps costs another sqrt(taps) at most.
    """
    weight, bias = _wide(layer.weight), layer.bias
    taps = weight[0, 0].numel()
    return LayerSize(
        gain=_norm_above(layer),
        roughness=length_up(weight.abs().flatten(2).sum(dim=2) if weight.dim() > 2 else weight),
        offset=0.0 if bias is None else length_up(_wide(bias)),
        mean=0.0,
        spill=round_up_float((taps * len(weight)) ** 0.5),
        terms=weight[0].numel() + 1,
    )


def _norm_above(layer: Layer) -> float:
    if not isinstance(layer, nn.Conv2d):
        return operator_norm(layer).upper
    # The image size serves the lower bound alone, which nobody asks for here: a small one saves the work.
    reach = max(d * (k - 1) for d, k in zip(layer.dilation, layer.kernel_size, strict=True))
    padding = 0 if isinstance(layer.padding, str) else max(layer.padding)
    return operator_norm(layer, image_size=2 * reach + padding + 1).upper


def _distance_of_weights(first: Layer, second: Layer) -> LayerDistance:
    difference = _subtract(first, second)
    shift = 0.0 if difference.bias is None else length_up(_wide(difference.bias))
    # Each entry of the difference is rounded once, by 2^-53 of itself: far below 1e-9 in every norm.
    weights = _norm_above(difference) * (1 + 1e-9)
    return LayerDistance(weights=round_up_float(weights), shift=round_up_float(shift))


def _subtract(first: Layer, second: Layer) -> Layer:
    difference = copy.deepcopy(first).double()
    others = dict(second.named_parameters())
    with torch.no_grad():
        for name, parameter in difference.named_parameters():
            parameter.sub_(_wide(others[name]))
    return difference


@dataclass(frozen=True)
class _Affine:
    """Batch norm in eval mode: scale x + shift, and what its roundings are proportional to."""

    scale: Tensor
    shift: Tensor
    offset: Tensor
    mean: Tensor


def _affine(layer: Layer) -> _Affine:
    mean, variance = _wide(layer.running_mean), _wide(layer.running_var)
    try:
        refuse_cancelling(variance, layer.eps)
    except NoRuleError as reason:
        raise PactError(f"no bound is known for batch norm {reason}", where="layer") from reason
    weight = torch.ones_like(mean) if layer.weight is None else _wide(layer.weight)
    bias = torch.zeros_like(mean) if layer.bias is None else _wide(layer.bias)
    scale = weight / (variance + layer.eps).sqrt()
    return _Affine(scale, bias - scale * mean, (scale * mean).abs() + bias.abs(), mean)


def _size_of_norm(layer: Layer) -> LayerSize:
    affine = _affine(layer)
    gain = round_up_float(float(affine.scale.abs().max()))
    return LayerSize(
        gain=gain,
        roughness=gain,
        offset=length_up(affine.offset),
        mean=length_up(affine.mean),
        spill=1.0,
        terms=_NORM_ROUNDINGS,
        is_norm=True,
    )


def _distance_of_norm(first: Layer, second: Layer) -> LayerDistance:
    """Differences of numbers that were rounded a few times themselves: what that may hide is added."""
    one, other = _affine(first), _affine(second)
    hidden = 16 * _UNIT
    scale = (one.scale - other.scale).abs() + hidden * (one.scale.abs() + other.scale.abs())
    offsets = hidden * (one.offset + other.offset)
    shifts = [
        length_up((one.shift - other.shift).abs() + offsets),
        length_up((one.offset - other.offset).abs() + offsets),
        length_up(one.mean - other.mean),
    ]
    return LayerDistance(weights=round_up_float(float(scale.max())), shift=round_up_float(max(shifts)))


def _subtract_norms(first: Layer, second: Layer) -> Layer:
    """A batch norm of statistics 0 and 1 whose weight and bias are the differences of scales and shifts."""
    one, other = _affine(first), _affine(second)
    difference = type(first)(len(one.scale), eps=0.0).double().eval()
    with torch.no_grad():
        difference.weight.copy_(one.scale - other.scale)
        difference.bias.copy_(one.shift - other.shift)
    return difference


@dataclass(frozen=True)
class Kind:
    """difference  a layer with the weights W - W^ and the bias b - b^; its numbers are rounded, by less than 2^-48 of
    those that they are differences of"""

    size: Callable[[Layer], LayerSize]
    distance: Callable[[Layer, Layer], LayerDistance]
    difference: Callable[[Layer, Layer], Layer]


def _size_of_channels(layer: Layer) -> LayerSize:
    """One scale and one shift for each channel: |W|_op = max |w_c|; one product and the shift are summed."""
    gain = round_up_float(float(_wide(layer.weight).abs().max()))
    return LayerSize(
        gain=gain, roughness=gain, offset=length_up(_wide(layer.bias)), mean=0.0, spill=1.0, terms=_CHANNEL_TERMS
    )


def _distance_of_channels(first: Layer, second: Layer) -> LayerDistance:
    """max |w_c - w^_c| and |b - b^|; a difference of two float32 numbers is rounded once, far below 1e-9 of itself."""
    difference = _subtract(first, second)
    weights = float(_wide(difference.weight).abs().max()) * (1 + 1e-9)
    return LayerDistance(weights=round_up_float(weights), shift=round_up_float(length_up(_wide(difference.bias))))


_WEIGHTS = Kind(_size_of_weights, _distance_of_weights, _subtract)
_NORM = Kind(_size_of_norm, _distance_of_norm, _subtract_norms)
_CHANNELS = Kind(_size_of_channels, _distance_of_channels, _subtract)

KINDS: Mapping[type[nn.Module], Kind] = MappingProxyType(
    {
        nn.Linear: _WEIGHTS,
        nn.Conv2d: _WEIGHTS,
        nn.BatchNorm1d: _NORM,
        nn.BatchNorm2d: _NORM,
        ChannelAffine: _CHANNELS,
    }
)
