"""The binomial lower tail in log space, and its inversion, rounded outward.

Library log-cdfs go through the cdf itself and underflow at about 1,000 bits; then every risk looks impossible and the
inverted bound comes out too small. Here the tail is its largest term, taken in logarithms, times a short series:

    t_i = C(m,i) p^i (1-p)^(m-i)
    P[Bin(m,p) <= k] = t_k * (1 + r_k + r_k r_(k-1) + ...),   r_i = t_(i-1)/t_i = i(1-p) / ((m-i+1)p)

For p >= k/m every ratio is below 1 and they fall with i, so the rest after any term is below a geometric series.
"""

from __future__ import annotations

import math
from numbers import Real

import numpy as np

from netpact.certificates.bisection import safe_end
from netpact.certificates.inputs import error_counts
from netpact.core.checks import check_number, plain
from netpact.core.errors import PactError

_EPS = 2.0**-52
# Rounding allowance, in units of _EPS times the size of each logarithm that is added up. math.lgamma is the least exact
# of them: within 3 such units of mpmath on every size that the tests sample. log, log1p and the products stay below 2.
# The same for each term of the series: a ratio takes five roundings of half a unit, the running product one more.
_ALLOWANCE = 8.0
# The rest of the series is added as its upper bound, so this number decides the effort, not the validity.
_NEGLIGIBLE = 2.0**-60
_FIRST_CHUNK = 64
_LAST_CHUNK = 16384


def log_tail(*, errors: int, samples: int, risk: float) -> float:
    """ln P[Bin(samples, risk) <= errors], to about 1e-14 times the size of the log factorials involved."""
    k, m = error_counts(errors=errors, samples=samples)
    p = check_number(plain(risk), where="risk", least=0, most=1)
    if k == m or p == 0.0:
        return 0.0
    if p == 1.0:
        return -math.inf
    if p * m >= k:
        return min(0.0, _falling_tail(k, m, p, 1.0 - p)[0])
    # Below k/m the terms rise towards zero errors: sum the other side, counting correct answers instead of errors.
    other = min(0.0, _falling_tail(m - k - 1, m, 1.0 - p, p)[0])
    return math.log1p(-math.exp(other))


def invert_tail(*, errors: int, samples: int, log_inv: float) -> float:
    """The largest risk that still explains so few errors (binomial tail inversion, Langford 2005: test set bound).

        max{p : P[Bin(samples, p) <= errors] >= exp(-log_inv)}

    Rounded outward: never below the true value, above it by at most 1e-9 for up to a million samples. Where the true
    value lies below errors/samples (only possible when exp(-log_inv) is near 1), errors/samples is returned.
    """
    k, m = error_counts(errors=errors, samples=samples)
    if isinstance(log_inv, bool) or not isinstance(log_inv, Real) or not log_inv >= 0.0:
        raise PactError(f"must be a number >= 0, got {log_inv!r}", where="log_inv")
    if k == m:
        return 1.0
    if k == 0:
        # (1 - p)^m = exp(-log_inv); three correctly rounded steps, each of condition at most 1.
        return min(1.0, -math.expm1(-log_inv / m) * (1.0 + 4.0 * _EPS))

    def too_risky(p: float) -> bool:
        value, slack = _falling_tail(k, m, p, 1.0 - p)
        return value + slack < -log_inv

    rate = k / m
    return rate if too_risky(rate) else safe_end(too_risky, low=rate, high=1.0)


def _falling_tail(k: int, m: int, p: float, q: float) -> tuple[float, float]:
    """ln P[Bin(m,p) <= k] for k/m <= p < 1 and q = 1 - p, with an allowance for its rounding error."""
    # The smaller of p and q is exact; the other one carries the rounding of the subtraction, so it is not used here.
    log_p = math.log(p) if p <= q else math.log1p(-q)
    log_q = math.log(q) if q <= p else math.log1p(-p)
    parts = (
        math.lgamma(m + 1),
        -math.lgamma(k + 1),
        -math.lgamma(m - k + 1),
        k * log_p,
        (m - k) * log_q,
    )
    total, terms = _sum_falling(k, m, p, q)
    value = math.fsum(parts) + math.log(total)
    size = math.fsum(abs(part) for part in parts) + abs(value)
    return value, _EPS * _ALLOWANCE * (size + terms + 1)


def _sum_falling(k: int, m: int, p: float, q: float) -> tuple[float, int]:
    """1 + r_k + r_k r_(k-1) + ... from above, and how many terms were summed one by one."""
    total, last, i, chunk = 1.0, 1.0, k, _FIRST_CHUNK
    while i > 0:
        index = np.arange(i, max(i - chunk, 0), -1, dtype=np.float64)
        products = last * np.cumprod(index * q / ((m - index + 1.0) * p))
        total += float(products.sum())
        last, i = float(products[-1]), i - len(index)
        ratio = i * q / ((m - i + 1.0) * p)
        if ratio < 1.0:
            rest = last * ratio / (1.0 - ratio)
            if rest <= _NEGLIGIBLE * total:
                total += rest
                break
        chunk = min(2 * chunk, _LAST_CHUNK)
    return total, k - i
