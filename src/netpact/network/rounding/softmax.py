"""What softmax and log-softmax do to the spread. At the end of a network they are operations like any other."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from netpact.network.rounding.tolerance import NoRuleError, Rounding, spread_of, value_of

EXP_ULPS = 32  # vectorised kernels use an exponential that is good to 20 units in the last place
_FAR = 16.0  # beyond such a spread nothing is known of a probability but that it is one
_NOTHING = 800.0  # exp of less than minus this is below the smallest number of float64


def exponent_units(terms: int) -> int:
    """By how many units exponents seem to move where a row of so many is taken in parts of any size, in any order.

    Kernels keep the largest number met so far. When it grows, from m to m', all that was summed is multiplied with
    exp(m - m'): 32 units, the product's, and the argument's rounding, which telescopes. That is at most once for each
    entry that comes after.
    """
    return (EXP_ULPS + 4) * (1 + terms)


def softmax_rule(
    r: Rounding, x: Tensor, dim: Any = None, *more: Any, _stacklevel: int = 3, dtype: Any = None
) -> tuple[Tensor, Tensor]:
    """See `bound_softmax`; a row of n numbers is summed and divided by: gamma_{n+4}."""
    _check(dim, more, dtype)
    return bound_softmax(r, value_of(x), spread_of(x), dim)


def bound_softmax(r: Rounding, x: Tensor, s: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """p_i = exp(x_i) / sum_j exp(x_j). Where every x_j moves by at most s_j, p_i becomes at most

        p_i e^{s_i} / D,   D = p_i e^{s_i} + sum_{j != i} p_j e^{-s_j}

    and is larger by  p_i ((1 - p_i) (e^{s_i} - 1) + sum_{j != i} p_j (1 - e^{-s_j})) / D;  below it is the same with
    the signs exchanged. Rounding: machines take out the largest number m first, or the largest so far. x_j - m is
    rounded once and exp is good to 32 units, which is as if x_j moved by

        gamma_1 (|x_j - m| + 2 max s) + gamma_k,   k = exponent_units(n)

    Sums and quotients of positive numbers are relative errors. Where exp underflows, p_j is lost: below the smallest
    number. An entry that is -inf for certain is one that is not there; one that is far below the largest for certain is
    lost, and may be anything as low.
    """
    terms = x.shape[dim]
    gone = torch.isneginf(x) & (s == 0)
    lost = _lost(r, x, s, dim)
    felt = _felt(r, x, s, lost, dim)
    values, near = torch.softmax(x, dim), felt.clamp(max=_FAR)
    spread = torch.maximum(_moved(values, near, dim, up=True), _moved(values, near, dim, up=False))
    # Both probabilities are at most 1, and the computed one is rounded.
    spread = torch.where(felt.amax(dim, keepdim=True) > _FAR, 1.0, spread.clamp(max=1.0))
    spread = torch.where(lost, 0.0, spread + r.gamma(terms + 4) * (values + spread)) + r.underflow(terms + 1)
    spread = torch.where(gone, 0.0, spread)
    finite = seen_sizes(r, x, s, dim).amax(dim, keepdim=True) * 2 <= r.highest
    return values, torch.where(finite & torch.isfinite(felt.amax(dim, keepdim=True)), spread, torch.inf)


def _lost(r: Rounding, x: Tensor, s: Tensor, dim: int) -> Tensor:
    """Entries so far below the largest that their exponentials are nothing in every run."""
    gone = torch.isneginf(x) & (s < torch.inf)
    felt = _felt(r, x, s, gone, dim)
    return gone | (x + felt < (x - felt).amax(dim, keepdim=True) - _NOTHING)


def seen_sizes(r: Rounding, x: Tensor, s: Tensor, dim: int) -> Tensor:
    """The magnitudes |x| + s of the entries that have a part in the softmax, and 0 for the others."""
    return torch.where(_lost(r, x, s, dim), 0.0, x.abs() + s)


def _felt(r: Rounding, x: Tensor, s: Tensor, gone: Tensor, dim: int) -> Tensor:
    """By how much exponents seem to move; those that are gone say nothing."""
    widest = torch.where(gone, 0.0, s).amax(dim, keepdim=True)
    down = (x - x.amax(dim, keepdim=True)).abs()
    return torch.where(gone, 0.0, s + r.gamma(1) * (down + 2 * widest) + r.gamma(exponent_units(x.shape[dim])))


def _moved(p: Tensor, s: Tensor, dim: int, *, up: bool) -> Tensor:
    """How far p_i can rise, or fall, where exponents move by s. The last term is what 1 - p_i may have lost."""
    sign = 1.0 if up else -1.0
    own, others = sign * torch.expm1(sign * s), -sign * torch.expm1(-sign * s)
    slack = (8 + p.shape[dim]) * 2.0**-53
    rest = ((p * others).sum(dim, keepdim=True) - p * others).clamp(min=0) + slack * others.amax(dim, keepdim=True)
    whole = (p * torch.exp(-sign * s)).sum(dim, keepdim=True)
    total = whole + p * (torch.exp(sign * s) - torch.exp(-sign * s)) - slack * (whole + p * torch.exp(s))
    return p * ((1 - p + slack).clamp(min=0) * own + rest) / total.clamp(min=torch.finfo(p.dtype).tiny) * (1 + slack)


def log_softmax_rule(
    r: Rounding, x: Tensor, dim: Any = None, *more: Any, _stacklevel: int = 3, dtype: Any = None
) -> tuple[Tensor, Tensor]:
    """log p_i = (x_i - m) - log sum_j exp(x_j - m), with m the largest, n entries and k = exponent_units(n):

        spread = s_i + max s + gamma_{2n+k} + gamma_8 (|x_i - m| + 2 max s + log n + 1) + gamma_2 (|m| + max s)

    log p_i has the slope 1 - p_i in x_i and -p_j in the others. The sum is of n numbers of at most 1 and is at least 1;
    x_j - m is rounded, which changes its term by u |x_j - m| exp(x_j - m) <= u / e; exponents move by k units: the
    logarithm moves by gamma_{n + n/e + k}, and is at most log n; it and the two differences take less than 8 units.
    Kernels may also add m to the logarithm first, and take the sum away: that rounds a number as large as m.
    """
    _check(dim, more, dtype)
    given, s = value_of(x), spread_of(x)
    value = torch.log_softmax(given, dim)
    terms, widest = given.shape[dim], s.amax(dim, keepdim=True)
    down = (given - given.amax(dim, keepdim=True)).abs()
    reach = down + 2 * widest + math.log(terms) + 1
    highest = given.amax(dim, keepdim=True).abs() + widest
    spread = s + widest + r.gamma(2 * terms + exponent_units(terms)) + r.gamma(8) * reach + r.gamma(2) * highest
    return value, r.limit(spread, (given.abs() + s).amax(dim, keepdim=True), gain=4.0, plus=float(terms))


def _check(dim: Any, more: tuple[Any, ...], dtype: Any) -> None:
    if not isinstance(dim, int) or dtype is not None or any(not isinstance(entry, int) for entry in more):
        raise NoRuleError("without dim, or with dtype")
