"""The same three bounds, computed a second time for the verifier.

Nothing here is shared with the first implementation: decimal arithmetic with 50 digits instead of floating point, log
factorials by Stirling's series instead of lgamma, and its own checks. An error would have to be made twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from numbers import Integral, Real

from netpact.core.errors import PactError, one_of

# A stated bound may be smaller than the second opinion by this much and still count as equal to it.
TOLERANCE = Decimal("1e-12")
_DIGITS = 50
_HALVINGS = 55
_NEGLIGIBLE = Decimal("1e-25")
# Fifty digits leave about 1e-40 after adding numbers of size 1e10; this is added on top of every log tail.
_ROUNDING = Decimal("1e-30")
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097")
# B_2j / (2j(2j-1)) for j = 1..8, as fractions.
_STIRLING = ((1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156), (-3617, 122400))
_STIRLING_FROM = 1000


@dataclass(frozen=True)
class Opinion:
    """What the second implementation says about a stated bound."""

    holds: bool
    own_bound: float
    reason: str

    def __bool__(self) -> bool:
        return self.holds


def check_bound(*, errors: int, samples: int, code_bits: int, delta: float, form: str, bound: float) -> Opinion:
    """Does a stated bound hold? True iff it is at least the bound computed here, less 1e-12.

    A looser bound than necessary is honest and holds; a smaller one does not.
    """
    if not isinstance(form, str) or form not in _FORMS:
        raise one_of(form, _FORMS, option="form")
    for name, value in (("errors", errors), ("samples", samples), ("code_bits", code_bits)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
            raise PactError(f"must be an integer >= 0, got {value!r}", where=name)
    if not 1 <= samples <= 10**9 or errors > samples or code_bits > 10**15:
        raise PactError("must satisfy 0 <= errors <= samples, 1 <= samples <= 10^9, code_bits <= 10^15", where="counts")
    if not isinstance(delta, Real) or not 0.0 < delta < 1.0:
        raise PactError(f"must be a number > 0 and < 1, got {delta!r}", where="delta")
    if not isinstance(bound, Real) or isinstance(bound, bool) or not math.isfinite(bound):
        raise PactError(f"must be a finite number, got {bound!r}", where="bound")
    # A context of our own: the caller's precision and traps must not reach in here.
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN, Emin=-999999, Emax=999999)):
        log_inv = int(code_bits) * Decimal(2).ln() - Decimal(float(delta)).ln()
        own = _FORMS[form](int(errors), int(samples), log_inv)
        holds = Decimal(float(bound)) >= own - TOLERANCE
    verdict = "not smaller than" if holds else "smaller than"
    reason = f"the stated bound {float(bound):.12g} is {verdict} the recomputed {form} bound {float(own):.12g}"
    return Opinion(holds=bool(holds), own_bound=float(own), reason=reason)


def _exact(k: int, m: int, log_inv: Decimal) -> Decimal:
    """max{p : P[Bin(m,p) <= k] >= exp(-log_inv)}"""
    if k == m:
        return Decimal(1)
    log_choose = _log_factorial(m) - _log_factorial(k) - _log_factorial(m - k)

    def is_beyond(p: Decimal) -> bool:
        log_first = log_choose + (k * p.ln() if k else 0) + (m - k) * (1 - p).ln()
        # The first term alone is a lower bound on the tail: most points far below the answer stop here.
        if log_first >= -log_inv:
            return False
        return log_first + _series(k, m, p).ln() + _ROUNDING <= -log_inv

    return _upper_end(k, m, is_beyond)


def _series(k: int, m: int, p: Decimal) -> Decimal:
    """P[Bin(m,p) <= k] divided by its largest term P[Bin(m,p) = k], from above; needs p >= k/m.

    Going down from i to i - 1 errors multiplies the term by i(1-p)/((m-i+1)p), which falls with i, so what is left out
    is less than a geometric series with the next ratio.
    """
    odds = (1 - p) / p
    total = term = Decimal(1)
    for i in range(k, 0, -1):
        ratio = i * odds / (m - i + 1)
        if ratio < 1:
            rest = term * ratio / (1 - ratio)
            if rest < _NEGLIGIBLE * total:
                return total + rest
        term *= ratio
        total += term
    return total


def _kl(k: int, m: int, log_inv: Decimal) -> Decimal:
    """max{p >= k/m : m*kl(k/m || p) <= log_inv}"""
    if k == m:
        return Decimal(1)
    rate = Decimal(k) / m
    entropy = (rate * rate.ln() if k else 0) + (1 - rate) * (1 - rate).ln()

    def is_beyond(p: Decimal) -> bool:
        cross = (rate * p.ln() if k else 0) + (1 - rate) * (1 - p).ln()
        return m * (entropy - cross) >= log_inv + _ROUNDING

    return _upper_end(k, m, is_beyond)


def _hoeffding(k: int, m: int, log_inv: Decimal) -> Decimal:
    """k/m + sqrt(log_inv / (2m))"""
    return min(Decimal(1), Decimal(k) / m + (log_inv / (2 * m)).sqrt())


_FORMS: dict[str, Callable[[int, int, Decimal], Decimal]] = {"exact": _exact, "kl": _kl, "hoeffding": _hoeffding}


def _upper_end(k: int, m: int, is_beyond: Callable[[Decimal], bool]) -> Decimal:
    """The least point of a fine grid over [k/m, 1] known to be beyond the bound; 1 if there is none."""
    start = Decimal(k) / m
    steps_low, steps_high, steps = 0, 2**_HALVINGS, 2**_HALVINGS
    while steps_high - steps_low > 1:
        middle = (steps_low + steps_high) // 2
        if is_beyond(start + (1 - start) * middle / steps):
            steps_high = middle
        else:
            steps_low = middle
    return start + (1 - start) * steps_high / steps


def _log_factorial(n: int) -> Decimal:
    """ln n!, by Stirling's series: its error is below the first term left out, here 0.18/1000^17 < 1e-51."""
    if n < _STIRLING_FROM:
        return Decimal(math.factorial(n)).ln()
    x = Decimal(n)
    series = sum((Decimal(a) / b / x ** (2 * j + 1) for j, (a, b) in enumerate(_STIRLING)), Decimal(0))
    return x * x.ln() - x + (2 * _PI * x).ln() / 2 + series
