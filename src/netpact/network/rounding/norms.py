"""What norms computed from the sample itself do to the spread: layer, group, instance and RMS norm.

    c = x - mean(x),   r = sqrt(mean(c^2) + eps),   y = w c / r + b        over groups of n entries; RMS norm has c = x

Where x moves by at most s, with rho the root of the mean of s^2 over the group:

    |c - c'| <= s + mean(s),   |r - r'| <= rho,   |c / r - c' / r'| <= (s + mean(s) + |c| rho / r) / low

with low = max(r - rho, sqrt(eps)), because r is a norm of (c, sqrt(n eps)) / sqrt(n) and projecting makes no vector
longer. Rounding: kernels sum, subtract the squared mean from the mean of squares, or join groups of entries in any tree
(Welford 1962; Chan, Golub and LeVeque 1983), each with m entries, the mean M and the sum of squares Q around it:

    d = M_b - M_a,   M = M_a + c d,   c = m_b / (m_a + m_b),   Q = Q_a + Q_b + d^2 c m_a  or, for one entry,  d (x - M)

Mean. c d has three roundings, the sum one. Relative to exact means M_a is multiplied with 1 + gamma_{3 m_b / m_a} and
M_b with 1 + gamma_3, both with 1 + u: each join costs an entry at most 3 times the number of entries that it meets
there, plus 1. These are n - 1 in all, so

    mean      gamma_{4n} mean |x|                                                                                  (1)

Squares. By (1) and Cauchy-Schwarz d is off by at most gamma_{4n} / n sqrt(m X), with X = sum x^2 over the m entries of
both groups. The weights w = m_a m_b / m of d^2 have sum w d^2 = n var <= X, and sum w (off)^2 <= gamma_{4n}^2 X / 2,
because m_a m_b <= (m^2 - m_a^2) / 2 adds up to n^2 / 2 for every entry. With Cauchy-Schwarz again the sum moves by at
most (sqrt(2) + 1/16) gamma_{4n} X <= gamma_{6n} X. The squares are positive: six roundings of each and two for each
join are gamma_{2n+4}. For one entry M in x - M is rounded too: u |d| |M| in each join, in all below gamma_n X. Mean,
eps, root and inverse take eight:

    r^2       a relative error of  tau = gamma_{9n+16} (mean(x^2) + eps) / low^2,   which must be below 1/4         (2)
    1 / r     a relative error of  theta = 0.62 tau >= (1 - tau)^(-1/2) - 1
    y         eight roundings of numbers up to |w| (|x| + mean |x|) / low and |b|, also as x (w / r) + (b - mean w / r)

Sums in any order, and the difference of two means, take fewer than (1) and (2) allow. Below the smallest normal number
n + 2 products may be lost in c, and the factor w / r, which multiplies x and the mean.
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


def mean_error(r: Rounding, n: int) -> float:
    """Of a mean of n entries, relative to the mean of their magnitudes: (1)."""
    return r.gamma(4 * n)


def own_error(n: int) -> float:
    """Of a root as it is computed here in float64, relative to itself; and, times sqrt(mean(x^2)), of the mean in it.

    The mean of n entries is off by at most gamma_n mean |x|, a difference by u more of both, so c is off by at most
    (gamma_n + 3 u) |x| in the Euclidean norm, of which r is one; squares, mean, eps and root take n + 4 roundings of r.
    """
    return (n + 8) * 2.0**-52


def inverse_root_error(r: Rounding, n: int, squares: Tensor, eps: float, low: Tensor) -> Tensor:
    """Of 1 / r, relative, with squares >= mean(x^2); infinite where (2) says nothing."""
    tau = r.gamma(9 * n + 16) * (squares + eps) / low.square()
    return torch.where(tau < 0.25, 0.62 * tau, torch.inf)


@dataclass(frozen=True)
class Normed:
    """c / r, its spread with the roundings that w multiplies, how large the numbers are that w / r multiplies, low."""

    value: Tensor
    spread: Tensor
    reach: Tensor
    low: Tensor

    def reshape(self, shape: Any) -> Normed:
        return Normed(*(part.reshape(shape) for part in (self.value, self.spread, self.reach, self.low)))


def _normed(r: Rounding, groups: _Groups) -> Normed:
    """What follows by w and b is the caller's."""
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
    squares, own = size.square().mean(-1, keepdim=True), own_error(terms)
    left = root * (1 - own) - rho - own * squares.sqrt()
    low = torch.maximum(left, torch.full_like(root, math.sqrt(eps))) * (1 - 2.0**-40)
    theta = inverse_root_error(r, terms, squares, eps, low)
    moved = (s + wide + c.abs() * rho / root) / low
    off = mean_error(r, terms) * level + r.gamma(8) * (size + level) + r.underflow(terms + 2)
    spread = moved + ((1 + theta) * off + theta * (c.abs() + s + wide)) / low
    fits = torch.isfinite(theta) & (size.amax(-1, keepdim=True).square() * terms <= r.highest)
    return Normed(c / root, torch.where(fits, spread, torch.inf), size + level, low.expand_as(c))


def _scaled(r: Rounding, normed: Normed, weight: Tensor | None, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """w y + b: the roundings of the products are in the spread of y, which w multiplies; those of b are added."""
    value, spread, steep = normed.value, normed.spread, (1 + normed.reach) / normed.low
    if weight is not None:
        w, t = value_of(weight), spread_of(weight)
        value, spread = value * w, w.abs() * spread + t * (value.abs() + spread)
        steep = (w.abs() + t).clamp(min=1) * steep
    if bias is not None:
        b, t = value_of(bias), spread_of(bias)
        value, spread = value + b, spread + t + r.gamma(4) * (b.abs() + t)
    size = value.abs() + spread
    spread = r.limit(spread + r.gamma(2) * size, size + steep, gain=4.0)
    return value, spread + r.underflow(1) * (4 + normed.reach)


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
    return _scaled(r, _normed(r, groups).reshape(given.shape), *affine)


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
    normed = _normed(r, _Groups(given.reshape(shape), s.reshape(shape), True, eps))
    sides = (-1, *(1,) * (given.dim() - 2))
    affine = _reshaped(weight, sides), _reshaped(bias, sides)
    return _scaled(r, normed.reshape(given.shape), *affine)


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
