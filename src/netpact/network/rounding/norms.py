"""What norms computed from the sample itself do to the spread: layer, group, instance and RMS norm.

    c = x - mean(x),   r = sqrt(mean(c^2) + eps),   y = w c / r + b        over groups of n entries; RMS norm has c = x

Where x moves by at most s, with rho the root of the mean of s^2 over the group:

    |c - c'| <= s + mean(s),   |r - r'| <= rho,   |c / r - c' / r'| <= (s + mean(s) + |c| rho / r) / low

with low = max(r - rho, sqrt(eps)), because r is a norm of (c, sqrt(n eps)) / sqrt(n) and projecting makes no vector
longer. Rounding: the mean is a sum of n terms, the variance is computed from x - mean or, by some kernels, as the mean
of squares minus the square of the mean, so that their errors are proportional to x and x^2, and not to c:

    mean      gamma_{n+2} mean |x|
    r^2       a relative error of  theta = 2 gamma_{2n+8} mean(x^2) / (low^2),   which must be below 1/4
    1 / r     a relative error of  theta
    y         eight roundings of numbers up to |w| (|x| + mean |x|) / low and |b|, also as x (w / r) + (b - mean w / r)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from netpact.network.rounding.sum_rules import LEAST_VARIANCE, Rule, batch_norm_rule
from netpact.network.rounding.tolerance import NoRuleError, Rounding, make_spread, spread_of, value_of


@dataclass(frozen=True)
class _Groups:
    """Entries (samples, groups, n), their spread, and the axes of one group at the end."""

    x: Tensor
    s: Tensor
    centred: bool
    eps: float


def _normed(r: Rounding, groups: _Groups) -> tuple[Tensor, Tensor]:
    """c / r and its spread; what follows by w and b is the caller's. The second has the roundings that w multiplies."""
    x, s, eps = groups.x, groups.s, groups.eps
    if not eps >= LEAST_VARIANCE:
        raise NoRuleError(f"with eps {eps}")
    terms = x.shape[-1]
    size = x.abs() + s
    mean = x.mean(-1, keepdim=True) if groups.centred else torch.zeros_like(x[..., :1])
    wide = s.mean(-1, keepdim=True) if groups.centred else torch.zeros_like(mean)
    level = size.mean(-1, keepdim=True) if groups.centred else wide
    c = x - mean
    root = (c.square().mean(-1, keepdim=True) + eps).sqrt()
    rho = s.square().mean(-1, keepdim=True).sqrt()
    low = torch.maximum(root - rho, torch.full_like(root, math.sqrt(eps))) * (1 - 2.0**-40)
    squares = size.square().mean(-1, keepdim=True)
    theta = 2 * r.gamma(2 * terms + 8) * (squares + eps) / low.square()
    moved = (s + wide + c.abs() * rho / root) / low
    off = r.gamma(terms + 2) * level + r.gamma(8) * (size + level)
    spread = moved + ((1 + theta) * off + theta * (c.abs() + s + wide)) / low
    fits = (theta < 0.25) & (size.amax(-1, keepdim=True).square() * terms <= r.highest)
    return c / root, torch.where(fits, spread, torch.inf)


def _scaled(
    r: Rounding, value: Tensor, spread: Tensor, weight: Tensor | None, bias: Tensor | None
) -> tuple[Tensor, Tensor]:
    """w y + b: the roundings of the products are in the spread of y, which w multiplies; those of b are added."""
    if weight is not None:
        w, t = value_of(weight), spread_of(weight)
        value, spread = value * w, w.abs() * spread + t * (value.abs() + spread)
    if bias is not None:
        b, t = value_of(bias), spread_of(bias)
        value, spread = value + b, spread + t + r.gamma(4) * (b.abs() + t)
    size = value.abs() + spread
    spread = r.limit(spread + r.gamma(2) * size, size, gain=4.0)
    return value, spread + 4 * r.underflow(1)


def layer_norm_rule(
    r: Rounding,
    x: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *cudnn: Any,
) -> tuple[Tensor, Tensor]:
    return _over_last(r, x, normalized_shape, (weight, bias), eps, centred=True)


def rms_norm_rule(
    r: Rounding, x: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> tuple[Tensor, Tensor]:
    if eps is None:  # then it is another number in every precision
        raise NoRuleError("without eps")
    return _over_last(r, x, normalized_shape, (weight, None), eps, centred=False)


def _over_last(
    r: Rounding, x: Tensor, shape: Any, affine: tuple[Tensor | None, Tensor | None], eps: float, *, centred: bool
) -> tuple[Tensor, Tensor]:
    given, s = value_of(x), spread_of(x)
    axes = len(tuple(shape))
    if given.dim() <= axes:
        raise NoRuleError("over the samples' axis")
    groups = _Groups(given.flatten(-axes), s.flatten(-axes), centred, eps)
    value, spread = (part.reshape(given.shape) for part in _normed(r, groups))
    return _scaled(r, value, spread, *affine)


def group_norm_rule(
    r: Rounding,
    x: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *cudnn: Any,
) -> tuple[Tensor, Tensor]:
    given, s = value_of(x), spread_of(x)
    shape = (given.shape[0], num_groups, -1)
    value, spread = _normed(r, _Groups(given.reshape(shape), s.reshape(shape), True, eps))
    sides = (-1, *(1,) * (given.dim() - 2))
    affine = _reshaped(weight, sides), _reshaped(bias, sides)
    return _scaled(r, value.reshape(given.shape), spread.reshape(given.shape), *affine)


def _reshaped(tensor: Tensor | None, sides: tuple[int, ...]) -> Tensor | None:
    if tensor is None:
        return None
    return make_spread(value_of(tensor).reshape(sides), spread_of(tensor).reshape(sides))


def instance_norm_rule(
    r: Rounding,
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *cudnn: Any,
) -> tuple[Tensor, Tensor]:
    """Each channel of each sample is a group; with running statistics it is batch norm."""
    if not use_input_stats:
        return batch_norm_rule(r, x, running_mean, running_var, weight, bias, False, momentum, eps)
    if value_of(x).dim() < 3:
        raise NoRuleError("of one sample")
    return group_norm_rule(r, x, value_of(x).shape[1], weight, bias, eps)


NORMS: dict[str, Rule] = {
    "layer_norm": layer_norm_rule,
    "group_norm": group_norm_rule,
    "instance_norm": instance_norm_rule,
    "rms_norm": rms_norm_rule,
}
