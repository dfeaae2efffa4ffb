"""The three forms of the risk bound: exact, kl, hoeffding."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from netpact.certificates.bisection import safe_end
from netpact.certificates.inputs import MAX_CODE_BITS, error_counts, failure_probability
from netpact.certificates.tail import invert_tail
from netpact.core.checks import check_choice, check_integer, plain

_EPS = 2.0**-52
# Two roundings of each logarithm's argument, then its own and the product's; twice what they can add up to.
_KL_ALLOWANCE = 8.0


def risk_bound(*, errors: int, samples: int, code_bits: int, delta: float, form: str = "exact") -> float:
    """An upper bound on the risk of a network decoded from `code_bits` bits, given its errors on the samples.

    With probability at least 1 - delta over the draw of the samples, for all messages of a prefix code at once
    (the Occam's Razor bound of Langford 2005; Arora et al. 2018, Theorem 2.1 made exact):

        risk <= B(errors, samples, log_inv),   log_inv = code_bits*ln 2 + ln(1/delta)

    exact      max{p : P[Bin(m,p) <= k] >= exp(-log_inv)}
    kl         max{p >= k/m : m*kl(k/m || p) <= log_inv}
    hoeffding  k/m + sqrt(log_inv / (2m))

    Assumes samples drawn independently from one distribution, and a code and a delta fixed before they were drawn.
    The result is rounded outward, is at least errors/samples and at most 1, and exact <= kl <= hoeffding.
    """
    k, m = error_counts(errors=errors, samples=samples)
    bits = check_integer(plain(code_bits), where="code_bits", least=0, most=MAX_CODE_BITS)
    probability = failure_probability(delta)
    check_choice(form, FORMS, where="form")
    log_inv = _log_inv(bits, probability)
    # Every looser form bounds the tighter ones too. Taking the least keeps their order where they meet (k = 0, or a
    # bound near 1) and they differ by rounding alone.
    order = list(FORMS)
    return min(FORMS[name](k, m, log_inv) for name in order[order.index(form) :])


def _log_inv(bits: int, delta: float) -> float:
    """bits*ln 2 + ln(1/delta), rounded up: a larger log_inv is a larger bound."""
    return (bits * math.log(2.0) - math.log(delta)) * (1.0 + 4.0 * _EPS)


def _exact(k: int, m: int, log_inv: float) -> float:
    return invert_tail(errors=k, samples=m, log_inv=log_inv)


def _kl(k: int, m: int, log_inv: float) -> float:
    if k == m:
        return 1.0

    def too_risky(p: float) -> bool:
        # m*kl(k/m || p) = k ln(k/(mp)) + (m-k) ln((m-k)/(mq))
        wrong = k * math.log(k / (m * p)) if k else 0.0
        right = (m - k) * math.log((m - k) / (m * (1.0 - p)))
        slack = _KL_ALLOWANCE * _EPS * (m + abs(wrong) + abs(right))
        return wrong + right - slack > log_inv

    return safe_end(too_risky, low=k / m, high=1.0)


def _hoeffding(k: int, m: int, log_inv: float) -> float:
    return min(1.0, (k / m + math.sqrt(log_inv / (2.0 * m))) * (1.0 + 4.0 * _EPS))


# From the tightest to the loosest: risk_bound relies on the order.
FORMS: Mapping[str, Callable[[int, int, float], float]] = MappingProxyType(
    {"exact": _exact, "kl": _kl, "hoeffding": _hoeffding}
)
