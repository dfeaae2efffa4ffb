"""Functions of one number whose slope depends on where it is: powers, roots, exponentials and logarithms."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from netpact.network.rounding.pointwise import ULPS
from netpact.network.rounding.products import inverse_rule, product_rule
from netpact.network.rounding.softmax import exponent_units
from netpact.network.rounding.sum_rules import Rule
from netpact.network.rounding.tolerance import NoRuleError, Rounding, spread_of, value_of

_MOST_POWER = 8


def exp_rule(r: Rounding, x: Tensor) -> tuple[Tensor, Tensor]:
    """|exp(x) - exp(x')| <= exp(x) (exp(s) - 1) = m; libraries compute it to a few units: gamma_8 (exp(x) + m)."""
    value, s = torch.exp(value_of(x)), spread_of(x)
    moved = value * torch.expm1(s)
    size = value + moved
    return value, torch.where(size <= r.highest, moved + r.gamma(ULPS) * size, torch.inf)


def log_rule(r: Rounding, x: Tensor) -> tuple[Tensor, Tensor]:
    """|log(x) - log(x')| <= log(x / low) = m with low = x - s > 0; anywhere else the spread is infinite."""
    given, s = value_of(x), spread_of(x)
    value, low = torch.log(given), given - s
    moved = -torch.log1p(-s / given)
    size = value.abs() + moved
    fits = (low >= 1 / r.highest) & (given + s <= r.highest)
    return value, torch.where(fits, moved + r.gamma(ULPS) * size, torch.inf)


def sqrt_rule(r: Rounding, x: Tensor) -> tuple[Tensor, Tensor]:
    """|sqrt(x) - sqrt(x')| <= s / (sqrt(x) + sqrt(low)) = m with low = x - s >= 0; a root of less is no number."""
    given, s = value_of(x), spread_of(x)
    value, low = torch.sqrt(given), given - s
    moved = torch.where(s == 0, 0.0, s / (value + torch.sqrt(low.clamp(min=0))))
    fits = (low >= 0) & (given + s <= r.highest)
    return value, torch.where(fits, moved + r.gamma(2) * (value + moved), torch.inf)


def inverse_root_rule(r: Rounding, x: Tensor) -> tuple[Tensor, Tensor]:
    """|1/sqrt(x) - 1/sqrt(x')| <= s / (sqrt(x) sqrt(low) (sqrt(x) + sqrt(low))) = m; four roundings of |..| + m."""
    given, s = value_of(x), spread_of(x)
    value, low = torch.rsqrt(given), given - s
    root, lowest = torch.sqrt(given), torch.sqrt(low.clamp(min=0))
    moved = s / (root * lowest * (root + lowest))
    fits = (low >= 1 / r.highest) & (given + s <= r.highest)
    return value, torch.where(fits, moved + r.gamma(4) * (value + moved), torch.inf)


def square_rule(r: Rounding, x: Tensor) -> tuple[Tensor, Tensor]:
    """|x^2 - x'^2| <= 2 |x| s + s^2"""
    return product_rule(r, x, x)


def power_rule(r: Rounding, x: Tensor, exponent: Any) -> tuple[Tensor, Tensor]:
    """Whole powers up to 8, by products or by a library's pow, and the roots and inverses that have other names:

    |x^k - x'^k| <= k s (|x| + s)^(k-1) = m,   spread = m + gamma_{8+2k} (|x^k| + m)
    """
    if isinstance(exponent, bool) or not isinstance(exponent, (int, float)):
        raise NoRuleError(f"to {'a tensor' if isinstance(exponent, Tensor) else exponent}")
    named: dict[float, Rule] = {0.5: sqrt_rule, -0.5: inverse_root_rule, -1: inverse_rule}
    if exponent in named:
        value, spread = named[exponent](r, x)
        return value, spread + r.gamma(ULPS) * (value.abs() + spread)
    if exponent != int(exponent) or not 1 <= exponent <= _MOST_POWER:
        raise NoRuleError(f"to the power {exponent}")
    given, s, k = value_of(x), spread_of(x), int(exponent)
    value, felt = given**k, given.abs() + s
    moved = k * s * felt ** (k - 1)
    size = value.abs() + moved
    return value, torch.where(felt**k <= r.highest, moved + r.gamma(ULPS + 2 * k) * size, torch.inf)


def log_sum_exp_rule(r: Rounding, x: Tensor, dim: Any, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """|lse(x) - lse(x')| <= max s. With the largest number taken out, as everywhere, n terms of at most 1 are summed as
    for log-softmax; it and the sum of |max x| and at most log n take less than eight units."""
    given, s = value_of(x), spread_of(x)
    value = torch.logsumexp(given, dim, keepdim)
    moved = torch.amax(s, dim, keepdim)
    terms = given.numel() // max(1, value.numel())
    log, largest = 1 + math.log(max(1, terms)), torch.amax(given.abs() + s, dim, keepdim)
    spread = moved + r.gamma(2 * terms + exponent_units(terms)) + r.gamma(8) * (largest + moved + log)
    return value, r.limit(spread, largest, gain=2.0, plus=log)


POWERS: dict[str, Rule] = {
    "exp": exp_rule,
    "log": log_rule,
    "sqrt": sqrt_rule,
    "rsqrt": inverse_root_rule,
    "square": square_rule,
    **dict.fromkeys(("pow", "__pow__"), power_rule),
    "logsumexp": log_sum_exp_rule,
}
