"""The selection bound a second time, for the verifier: decimal arithmetic, terms by recurrence, no logarithms."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from numbers import Integral, Real

from netpact.certificates.second_opinion import TOLERANCE, Opinion
from netpact.core.errors import PactError

_DIGITS = 40
_HALVINGS = 12  # of what is said about a bound that does not hold: some digits are enough
_MOST_SAMPLES = 10**7


def check_selection_bound(*, selected: int, samples: int, code_bits: int, delta: float, bound: float) -> Opinion:
    """Does a stated bound hold? True iff the solution of the equation is at most the bound and 1e-12."""
    for name, value in (("selected", selected), ("samples", samples), ("code_bits", code_bits)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
            raise PactError(f"must be an integer >= 0, got {value!r}", where=name)
    if not 1 <= samples <= _MOST_SAMPLES or selected > samples or code_bits > 10**6:
        raise PactError("must satisfy selected <= samples <= 10^7 and code_bits <= 10^6", where="counts")
    if not isinstance(delta, Real) or not 0.0 < delta < 1.0:
        raise PactError(f"must be a number > 0 and < 1, got {delta!r}", where="delta")
    if not isinstance(bound, Real) or isinstance(bound, bool) or not math.isfinite(bound):
        raise PactError(f"must be a finite number, got {bound!r}", where="bound")
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN, Emin=-999999999, Emax=999999999)):
        share = Decimal(float(delta)) / Decimal(2) ** int(code_bits) / int(samples)
        stated = Decimal(float(bound))
        holds = _is_beyond(stated + TOLERANCE, int(selected), int(samples), share)
        own = stated if holds else _find(stated, int(selected), int(samples), share)
    verdict = "not smaller than" if holds else "smaller than"
    reason = f"the stated bound {float(bound):.12g} is {verdict} the recomputed selection bound {float(own):.6g}"
    return Opinion(holds=bool(holds), own_bound=float(own), reason=reason)


def _is_beyond(risk: Decimal, k: int, n: int, share: Decimal) -> bool:
    """share * sum_{m=k}^{n-1} t_m >= t_n with t_m = C(m, k) (1 - risk)^(m - k), each from the one before it."""
    if risk >= 1:
        return True
    if k == n or risk <= 0:
        return False
    kept = 1 - risk
    term, total = Decimal(1), Decimal(0)
    for m in range(k, n):
        total += term
        term = term * (m + 1) * kept / (m + 1 - k)
    return share * total >= term


def _find(low: Decimal, k: int, n: int, share: Decimal) -> Decimal:
    high = Decimal(1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _is_beyond(middle, k, n, share):
            high = middle
        else:
            low = middle
    return high
