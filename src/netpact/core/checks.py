"""Checks of single arguments: each gives the value back, or an error that says what is allowed and what came."""

from __future__ import annotations

import math
from collections.abc import Iterable

from netpact.core.errors import PactError, one_of


def check_integer(value: object, *, where: str, least: int | None = None, most: int | None = None) -> int:
    """An int and no bool, within both ends."""
    if isinstance(value, bool) or not isinstance(value, int) or not _inside(value, least, most):
        raise PactError(f"must be an integer{_range(least, most)}, got {value!r}", where=where)
    return value


def check_number(
    value: object,
    *,
    where: str,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> float:
    """A finite int or float and no bool. least and most are allowed themselves, above and below are not."""
    fits = not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value)
    if fits:
        assert isinstance(value, (int, float))
        fits = _inside(value, least, most) and (above is None or value > above) and (below is None or value < below)
    if not fits:
        ends = [
            f"{sign} {end:g}"
            for sign, end in ((">=", least), (">", above), ("<=", most), ("<", below))
            if end is not None
        ]
        raise PactError(f"must be a finite number{' ' * bool(ends)}{' and '.join(ends)}, got {value!r}", where=where)
    return value  # type: ignore[return-value]


def check_flag(value: object, *, where: str) -> bool:
    if not isinstance(value, bool):
        raise PactError(f"must be True or False, got {value!r}", where=where)
    return value


def check_choice(value: object, allowed: Iterable[str], *, where: str) -> str:
    """One of the names; the error lists them and guesses which one was meant."""
    names = tuple(allowed)
    if not isinstance(value, str) or value not in names:
        raise one_of(value, names, option=where)
    return value


def _inside(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def _range(least: int | None, most: int | None) -> str:
    if least is not None and most is not None:
        return f" from {least:,} to {most:,}"
    return f" >= {least:,}" if least is not None else f" <= {most:,}" if most is not None else ""
