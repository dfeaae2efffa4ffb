"""What products and quotients of two tensors do to the spread: entry by entry, and as sums of products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from netpact.network.rounding.sum_rules import Rule
from netpact.network.rounding.tolerance import NoRuleError, Rounding, make_spread, spread_of, value_of


def product_rule(r: Rounding, a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """a b with the spreads s and t, one rounding:

    |a b - a' b'| <= |a| t + |b| s + s t = m,   spread = m + gamma_1 (|a b| + m)
    """
    left, right = as_rounded(r, a, like=b), as_rounded(r, b, like=a)
    x, y, s, t = value_of(left), value_of(right), spread_of(left), spread_of(right)
    value = x * y
    moved = x.abs() * t + (y.abs() + t) * s
    size = value.abs() + moved
    return value, r.limit(moved, size) + r.gamma(1) * size


def quotient_rule(r: Rounding, a: Any, b: Any, *, rounding_mode: str | None = None) -> tuple[Tensor, Tensor]:
    """a / b with the spreads s and t, where b stays away from 0: low = |b| - t > 0. Anywhere else it is infinite.

        |a / b - a' / b'| <= (s |b| + |a| t) / (|b| low) = m,   spread = m + gamma_3 (|a / b| + m)

    Three roundings are enough for a product with the inverse; 1 / b must be in the range for that.
    """
    if rounding_mode is not None:
        raise NoRuleError(f"with rounding_mode {rounding_mode}")
    left, right = as_rounded(r, a, like=b), as_rounded(r, b, like=a)
    x, y, s, t = value_of(left), value_of(right), spread_of(left), spread_of(right)
    value, low = x / y, y.abs() - t
    moved = (s + value.abs() * t) / low
    size = value.abs() + moved
    fits = (low >= 1 / r.highest) & (y.abs() + t <= r.highest) & (size <= r.highest) & (x.abs() + s <= r.highest)
    return value, torch.where(fits, moved + r.gamma(3) * size + r.underflow(1) * (1 + x.abs()), torch.inf)


def inverse_rule(r: Rounding, x: Tensor) -> tuple[Tensor, Tensor]:
    return quotient_rule(r, 1.0, x)


def divided_rule(r: Rounding, x: Tensor, other: Any) -> tuple[Tensor, Tensor]:
    """Python's other / x."""
    return quotient_rule(r, other, x)


def as_rounded(r: Rounding, number: Any, *, like: Any) -> Tensor:
    """A tensor as it is. A number of the program is rounded to the precision first."""
    if isinstance(number, Tensor):
        return number
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
        raise NoRuleError(f"by {number}")
    full = torch.full((), float(number), dtype=torch.float64)
    return make_spread(full, r.gamma(1) * full.abs())


def _sums_of_products(
    r: Rounding, left: Tensor, right: Tensor, multiply: Callable[[Tensor, Tensor], Tensor], terms: int
) -> tuple[Tensor, Tensor]:
    """A B, sums of n products, with the spreads S and T:

    spread = |A| T + S (|B| + T) + gamma_n (|A| + S) (|B| + T)
    """
    a, b, s, t = value_of(left), value_of(right), spread_of(left), spread_of(right)
    gamma, wide = r.gamma(terms), b.abs() + t
    size = a.abs() + s
    spread = multiply(a.abs(), t + gamma * wide) + multiply(s, wide * (1 + gamma)) + r.underflow(terms)
    largest = float(wide.amax()) if wide.numel() else 0.0
    if not r.is_safe(size, gain=largest * terms, plus=0.0):
        spread = torch.where(multiply(size, wide) <= r.highest, spread, torch.inf)
    return multiply(a, b), spread


def matmul_rule(r: Rounding, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    return _sums_of_products(r, left, right, torch.matmul, max(1, left.shape[-1]))


def einsum_rule(r: Rounding, equation: Any, *given: Any) -> tuple[Tensor, Tensor]:
    """Of two tensors: as many terms as the letters that are summed over have values."""
    operands = list(given[0]) if len(given) == 1 and isinstance(given[0], (list, tuple)) else list(given)
    if not isinstance(equation, str) or len(operands) != 2 or "..." in equation:
        raise NoRuleError("of other than two tensors, or with dots")
    names, _, out = equation.replace(" ", "").partition("->")
    parts = names.split(",")
    sizes: dict[str, int] = {}
    for letters, tensor in zip(parts, operands, strict=True):
        if len(set(letters)) != len(letters):
            raise NoRuleError("with a letter twice in one tensor")
        sizes |= dict(zip(letters, tensor.shape, strict=True))
    if "->" not in equation:
        raise NoRuleError("without ->")
    terms = math.prod(size for letter, size in sizes.items() if letter not in out)
    left, right = operands
    return _sums_of_products(r, left, right, lambda a, b: torch.einsum(equation, a, b), max(1, terms))


def by_number_or_tensor(number: Rule, tensor: Rule) -> Rule:
    """One name for two operations: by a number of the program, or by another tensor."""

    def rule(r: Rounding, x: Any, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        other = args[0] if args else kwargs.get("other")
        if isinstance(x, Tensor) and not isinstance(other, Tensor):
            return number(r, x, *args, **kwargs)
        if kwargs.pop("other", None) is not None:
            args = (other,)
        return tensor(r, x, *args, **kwargs)

    return rule


# By the names that torch gives them
MATRIX_PRODUCTS: dict[str, Rule] = {
    **dict.fromkeys(("matmul", "bmm", "mm", "mv", "__matmul__"), matmul_rule),
    "einsum": einsum_rule,
}
INVERSES: dict[str, Rule] = {
    "reciprocal": inverse_rule,
    "__rdiv__": divided_rule,
}
