"""Shares as percentages: a bound rounds up, a confidence rounds down, what was measured rounds to the nearest.

A float is read as its shortest decimal, the one that Python and JSON write: 0.05 is 5 %, although the float is a
little above 1/20. That keeps a bound a bound: rounding to a float is monotone, so the printed number, read back as a
float, is never below the bound, and whoever accepts the bound (certificates/second_opinion.py) accepts what is printed.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal, localcontext

_DIGITS = 400  # the smallest and the largest float, written out


def percent_up(share: float, *, places: int = 1) -> str:
    """For a bound from above: 0.41201 -> '41.3 %'."""
    return f"{_rounded(share, places, ROUND_CEILING)} %"


def percent(share: float, *, places: int = 1) -> str:
    """For a measured share: 0.02549 -> '2.5 %'."""
    return f"{_rounded(share, places, ROUND_HALF_EVEN)} %"


def confidence(delta: float) -> str:
    """1 - delta, rounded down, without trailing zeros: 0.05 -> '95 %'."""
    with localcontext(Context(prec=_DIGITS)):
        kept = 1 - Decimal(repr(float(delta)))
        return f"{_rounded(kept, 10, ROUND_FLOOR):f}".rstrip("0").rstrip(".") + " %"


def _rounded(share: float | Decimal, places: int, rounding: str) -> Decimal:
    with localcontext(Context(prec=_DIGITS)):
        exact = share if isinstance(share, Decimal) else Decimal(repr(float(share)))
        return (exact * 100).quantize(Decimal(1).scaleb(-places), rounding)
