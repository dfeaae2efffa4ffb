"""How far a tensor can be off in the Euclidean norm: layers with weights, and batch norm behind them.

A layer y = W x + b with n products in each sum, P outputs that share one bias, in every order of summation:

    e_out = |W| e + gamma_{n+1} ( ||W|| (|x| + e) + |b| sqrt(P) )

|W| is the operator norm, ||W|| that of the layer with absolute values for weights: |W| |x| is what the rounding of each
sum is proportional to (tolerance.py), and its Euclidean norm is at most ||W|| |x|. Both are bounds from above that hold
for every image size and include the rounding of their own computation (netpact.algebra).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from netpact.algebra import ConvolutionOptions, matrix_norm
from netpact.algebra.norms import convolution_norm_above
from netpact.algebra.outward import length_up, norm_up, round_up, round_up_float
from netpact.network.rounding.length_call import Call, first_of, length_of, size_of
from netpact.network.rounding.sum_rules import NORM_ROUNDINGS, Norming, read_norming, sums_exactly
from netpact.network.rounding.tolerance import SMALLEST_FLOAT32, NoRuleError, Spread

_UNIT = 2.0**-53
_SCALING = 16  # roundings of a weight times weight / sqrt(variance + eps), twice what they are


@dataclass(frozen=True)
class LayerNorms:
    """gain |W|, roughness ||W||; units: the norm of each unit's weights, which bounds its sums, partial ones too."""

    gain: float
    roughness: float
    units: Tensor

    @property
    def steepest(self) -> float:
        return float(self.units.max())


@dataclass(frozen=True)
class Sums:
    """What a layer with weights gave, for a batch norm that follows it at once.

    length   of the layer's input
    noise    of the layer's own rounding
    size     at least the norm of each row
    changes  how often tensors had been changed in place by then
    """

    weight: Tensor
    options: ConvolutionOptions | None
    length: Tensor
    noise: Tensor
    size: Tensor
    changes: int


def linear_length(call: Call) -> Tensor:
    if sums_exactly(call.rounding, *call.args, **call.kwargs):
        call.spread = torch.zeros_like(call.value)
        return torch.zeros(len(call.value), dtype=torch.float64)
    return _layer(call, None)


def convolution_length(call: Call) -> Tensor:
    return _layer(call, _read_options(call))


def _read_options(call: Call) -> ConvolutionOptions:
    names = ("stride", "padding", "dilation", "groups")
    told = dict(zip(names, call.args[3:], strict=False)) | {k: v for k, v in call.kwargs.items() if k in names}
    return ConvolutionOptions(**{name: _as_option(value) for name, value in told.items()})


def _as_option(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return value[0] if len(value) == 1 else tuple(value)
    return value


def _layer(call: Call, options: ConvolutionOptions | None) -> Tensor:
    x, r = first_of(call), call.rounding
    told = dict(zip(("input", "weight", "bias"), call.args, strict=False)) | call.kwargs
    weight, bias = told.get("weight"), told.get("bias")
    if not isinstance(weight, Tensor) or isinstance(weight, Spread) or isinstance(bias, Spread):
        raise NoRuleError("by numbers that are computed from parameters")
    # Without an axis for the rows the first one would be that of the channels.
    if weight.dim() < 2 or x.dim() < 2 or (options is not None and x.dim() != weight.dim()):
        raise NoRuleError("without rows")
    norms = norms_of(call, weight, options)
    terms = math.prod(weight.shape[1:])
    shift, highest = (0.0, 0.0) if bias is None else _size_of_bias(call, bias)
    places = round_up_float(math.sqrt(call.value.numel() // (len(call.value) * len(weight))))
    size, length = size_of(x), length_of(x)
    felt = round_up(size + length)
    noise = r.gamma(terms + 1) * (norms.roughness * felt + shift * places) + r.underflow(terms + 1) * call.root
    noise = r.limit(round_up(noise), felt, gain=norms.steepest, plus=highest)
    if call.value.dim() == 2:
        # Unit by unit, |w| in place of |W|: the last layer's spreads decide.
        numbers = 0.0 if bias is None else bias.detach().abs()
        each = length[:, None] + r.gamma(terms + 1) * felt[:, None]
        each = norms.units * each + r.gamma(terms + 1) * numbers + r.underflow(terms + 1)
        call.spread = r.limit(round_up(each), felt[:, None], gain=norms.steepest, plus=highest)
    reach = round_up((norms.roughness * size + shift * places) * 2)
    call.sums = Sums(weight, options, length, noise, reach, call.lengths.changes)
    return round_up(norms.gain * length + noise)


def norms_of(call: Call, weight: Tensor, options: ConvolutionOptions | None, norming: Norming | None = None) -> Any:
    """Computed once for a network. What the key names is kept, so that no other tensor can come to have its id."""
    scaled = () if norming is None else (norming.variance, norming.weight)
    tensors = [weight, *(tensor for tensor in scaled if tensor is not None)]
    key = (tuple((id(t), t._version) for t in tensors), None if norming is None else norming.eps, options)
    known = call.lengths.norms
    if key not in known:
        with torch.no_grad():
            found = _measure(weight.double(), options, None if norming is None else norming.scale)
        known[key] = (found, tensors)
    return known[key][0]


def _measure(weight: Tensor, options: ConvolutionOptions | None, scale: Tensor | None) -> LayerNorms:
    if scale is not None:
        weight = weight * scale.view(-1, *(1,) * (weight.dim() - 1))
    if not weight.numel() or not bool(torch.isfinite(weight).all()):
        raise NoRuleError("by weights that are not finite")
    groups = 1 if options is None else options.groups
    # A sum over taps that has all signs equal is largest where all waves are constant.
    flat = weight.abs().flatten(2).sum(dim=2) if weight.dim() > 2 else weight.abs()
    taps = math.prod(weight.shape[2:])
    roughness = max(matrix_norm(part).upper for part in flat.chunk(groups)) * (1 + 2 * taps * _UNIT)
    gain = matrix_norm(weight).upper if options is None else convolution_norm_above(weight, options)
    if scale is not None:
        # The scaled weights are rounded: each by so many units of itself.
        gain = gain + _SCALING * _UNIT * roughness
    return LayerNorms(round_up_float(min(gain, roughness)), round_up_float(roughness), norm_up(weight))


def _size_of_bias(call: Call, bias: Tensor) -> tuple[float, float]:
    key, known = ("bias", id(bias), bias._version), call.lengths.norms
    if key not in known:
        numbers = bias.detach().double()
        known[key] = (length_up(numbers), float(numbers.abs().max()), bias)
    return known[key][:2]


def batch_norm_length(call: Call) -> Tensor:
    """Per channel (x - mean) scale + bias; scale = weight / sqrt(variance + eps), P entries for each channel.

        e_out = max scale e + gamma_10 (max scale (|x| + e) + | scale |mean| + |bias| | sqrt(P))

    Behind a layer y = W x + b, of which e = |W| e_in + noise:  |scale W| e_in + max scale noise  in place of the first
    term, where that is less.
    """
    x, r = first_of(call), call.rounding
    if x.dim() < 2 or any(isinstance(entry, Spread) for entry in (*call.args[1:], *call.kwargs.values())):
        raise NoRuleError("of numbers that are computed from parameters")
    norming = read_norming(call.args[1:], call.kwargs)
    facts = _facts_of(call, norming)
    places = round_up_float(math.sqrt(call.value.numel() // (len(call.value) * x.shape[1])))
    before = x.sums if x.sums is not None and x.sums.changes == call.lengths.changes else None
    length = length_of(x)
    carried = round_up(facts.most * length)
    if before is not None:
        gain = norms_of(call, before.weight, before.options, norming).gain
        carried = torch.minimum(carried, round_up(gain * before.length + facts.most * before.noise))
    felt = round_up((size_of(x) if before is None else before.size) + length)
    reach = facts.most * felt + facts.offset * places
    lost = max(r.underflow(1), 4 * SMALLEST_FLOAT32) * (facts.steep * felt + facts.steep_offset * places)
    found = round_up(carried + r.gamma(NORM_ROUNDINGS) * reach + lost + call.tiny)
    return r.limit(found, felt, gain=facts.through, plus=facts.plus)


@dataclass(frozen=True)
class _Facts:
    """most: the largest scale; offset: | scale |mean| + |bias| |; the others serve underflow and overflow."""

    most: float
    offset: float
    steep: float
    steep_offset: float
    through: float
    plus: float


def _facts_of(call: Call, norming: Norming) -> _Facts:
    tensors = [tensor for tensor in norming.tensors if tensor is not None]
    key = ("norm", tuple((id(tensor), tensor._version) for tensor in tensors), norming.eps)
    known = call.lengths.norms
    if key not in known:
        inverse, scale, weight = norming.inverse, norming.scale.abs(), norming.factor.abs()
        mean, bias = norming.mean.abs(), norming.shift.abs()
        steep = inverse.clamp(min=1)
        through = float((steep * weight.clamp(min=1)).max())
        facts = _Facts(
            most=_up(float(scale.max())),
            offset=_up(length_up(scale * mean + bias)),
            steep=_up(float(steep.max())),
            steep_offset=_up(length_up(steep * mean + scale + 1)),
            through=_up(through),
            plus=_up(through * float(mean.max()) + float(bias.max())),
        )
        known[key] = (facts, tensors)
    return known[key][0]


def _up(number: float) -> float:
    """A scale is the result of a few operations in float64."""
    return round_up_float(number)


LAYER_LENGTHS: dict[str, Callable[[Call], Tensor]] = {
    "linear": linear_length,
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), convolution_length),
    "batch_norm": batch_norm_length,
}
