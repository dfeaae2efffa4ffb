"""What softmax and log-softmax do to the spread. At the end of a network they are operations like any other."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from netpact.network.rounding.tolerance import NoRuleError, Rounding, spread_of, value_of

EXP_ULPS = 32  # vectorised kernels use an exponential that is good to 20 units in the last place
_FAR = 300.0  # beyond such a spread nothing is known of a probability but that it is one


def softmax_rule(
    r: Rounding, x: Tensor, dim: Any = None, *more: Any, _stacklevel: int = 3, dtype: Any = None
) -> tuple[Tensor, Tensor]:
    """See `bound_softmax`; a row of n numbers is summed and divided by: gamma_{n+4}."""
    _check(dim, more, dtype)
    return bound_softmax(r, value_of(x), spread_of(x), dim, ulps=EXP_ULPS)


def bound_softmax(r: Rounding, x: Tensor, s: Tensor, dim: int, *, ulps: int) -> tuple[Tensor, Tensor]:
    """p_i = exp(x_i) / sum_j exp(x_j). Where every x_j moves by at most s_j, p_i becomes at most

        p_i e^{s_i} / D,   D = p_i e^{s_i} + sum_{j != i} p_j e^{-s_j}

    and is larger by  p_i ((1 - p_i) (e^{s_i} - 1) + sum_{j != i} p_j (1 - e^{-s_j})) / D;  below it is the same with
    the signs exchanged. Rounding: machines take out the largest number m first. x_j - m is rounded once and exp is good
    to `ulps` units, which is as if x_j moved by

        gamma_1 (|x_j - m| + 2 max s) + gamma_ulps

    Sums and quotients of positive numbers are relative errors. Where exp underflows, p_j is lost: below the smallest
    number. An entry that is -inf for certain is one that is not there.
    """
    gone = torch.isneginf(x) & (s == 0)
    values = torch.softmax(x, dim)
    largest, widest = x.amax(dim, keepdim=True), s.amax(dim, keepdim=True)
    down = torch.where(gone, 0.0, (x - largest).abs())
    felt = torch.where(gone, 0.0, s + r.gamma(1) * (down + 2 * widest) + r.gamma(ulps))
    near = felt.clamp(max=_FAR)
    terms = x.shape[dim]
    spread = torch.maximum(_moved(values, near, dim, up=True), _moved(values, near, dim, up=False))
    # Both probabilities are at most 1, and the computed one is rounded.
    spread = torch.where(felt.amax(dim, keepdim=True) > _FAR, 1.0, spread.clamp(max=1.0))
    spread = spread + r.gamma(terms + 4) * (values + spread) + r.underflow(terms + 1)
    spread = torch.where(gone, 0.0, spread)
    finite = torch.where(gone, 0.0, x.abs() + s).amax(dim, keepdim=True) * 2 <= r.highest
    return values, torch.where(finite & torch.isfinite(widest), spread, torch.inf)


def _moved(p: Tensor, s: Tensor, dim: int, *, up: bool) -> Tensor:
    """How far p_i can rise, or fall, where exponents move by s. The last term is what 1 - p_i may have lost."""
    sign = 1.0 if up else -1.0
    own, others = sign * torch.expm1(sign * s), -sign * torch.expm1(-sign * s)
    slack = 2.0**-50
    rest = ((p * others).sum(dim, keepdim=True) - p * others).clamp(min=0) + slack * others.amax(dim, keepdim=True)
    whole = (p * torch.exp(-sign * s)).sum(dim, keepdim=True)
    total = whole + p * (torch.exp(sign * s) - torch.exp(-sign * s)) - slack * (whole + p * torch.exp(s))
    return p * ((1 - p + slack).clamp(min=0) * own + rest) / total.clamp(min=torch.finfo(p.dtype).tiny) * (1 + slack)


def log_softmax_rule(
    r: Rounding, x: Tensor, dim: Any = None, *more: Any, _stacklevel: int = 3, dtype: Any = None
) -> tuple[Tensor, Tensor]:
    """log p_i = (x_i - m) - log sum_j exp(x_j - m), with m the largest and n entries:

        spread = s_i + max s + gamma_{2n+40} + gamma_8 (|x_i - m| + 2 max s + log n + 1)

    log p_i has the slope 1 - p_i in x_i and -p_j in the others. The sum is of n numbers of at most 1 and is at least 1;
    x_j - m is rounded, which changes its term by u |x_j - m| exp(x_j - m) <= u / e; exp is good to 32 units: the
    logarithm moves by gamma_{n + n/e + 33}, and is at most log n; it and the two differences take less than 8 units.
    """
    _check(dim, more, dtype)
    given, s = value_of(x), spread_of(x)
    value = torch.log_softmax(given, dim)
    terms, widest = given.shape[dim], s.amax(dim, keepdim=True)
    down = (given - given.amax(dim, keepdim=True)).abs()
    reach = down + 2 * widest + math.log(terms) + 1
    spread = s + widest + r.gamma(2 * terms + EXP_ULPS + 8) + r.gamma(8) * reach
    return value, r.limit(spread, (given.abs() + s).amax(dim, keepdim=True), gain=4.0, plus=float(terms))


def _check(dim: Any, more: tuple[Any, ...], dtype: Any) -> None:
    if not isinstance(dim, int) or dtype is not None or any(not isinstance(entry, int) for entry in more):
        raise NoRuleError("without dim, or with dtype")
