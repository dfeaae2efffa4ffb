"""Checks of single arguments: each gives the value back, or an error that says what is allowed and what came."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import TypeVar

from netpact.core.errors import PactError, one_of, wrong_kind

T = TypeVar("T")
_LONGEST = 100  # characters of a value in an error: it may come from a hostile file
_MOST_DIGITS = 30  # Python refuses to write out integers above 4,300


def check_integer(value: object, *, where: str, least: int | None = None, most: int | None = None) -> int:
    """An int and no bool, within both ends."""
    if isinstance(value, bool) or not isinstance(value, int) or not _inside(value, least, most):
        raise PactError(f"must be an integer{_range(least, most)}, got {told(value)}", where=where)
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
    if (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and _is_finite(value)
        and _inside(value, least, most)
        and (above is None or value > above)
        and (below is None or value < below)
    ):
        return value
    ends = ((">=", least), (">", above), ("<=", most), ("<", below))
    allowed = " and ".join(f"{sign} {end:.6g}" for sign, end in ends if end is not None)
    raise PactError(f"must be a finite number{' ' * bool(allowed)}{allowed}, got {told(value)}", where=where)


def check_flag(value: object, *, where: str) -> bool:
    if not isinstance(value, bool):
        raise PactError(f"must be True or False, got {told(value)}", where=where)
    return value


def check_text(value: object, *, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise PactError(f"must be a text that is not empty, got {told(value)}", where=where)
    return value


def check_choice(value: object, allowed: Iterable[str], *, where: str) -> str:
    """One of the names; the error lists them and guesses which one was meant."""
    names = tuple(allowed)
    if not isinstance(value, str) or value not in names:
        raise one_of(value, names, option=where)
    return value


def check_instance(value: object, kind: type[T], *, where: str, needed: str = "", hint: str = "") -> T:
    """An object of the kind; `needed` describes it in the error, where its class has a name that says little."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIO" else "a"
        raise wrong_kind(value, needed=needed or f"{article} {kind.__name__}", where=where, hint=hint)
    return value


def plain(value: object) -> object:
    """numpy's numbers as Python's, so that records compare and are written alike; anything else as it is."""
    if isinstance(value, bool):
        return value
    return int(value) if isinstance(value, Integral) else float(value) if isinstance(value, Real) else value


def told(value: object) -> str:
    """A value as an error shows it, cut where it is long."""
    if isinstance(value, int) and abs(value) >= 10**_MOST_DIGITS:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an int beyond all floats
        return False


def _inside(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def _range(least: int | None, most: int | None) -> str:
    if least is not None and most is not None:
        return f" from {least:,} to {most:,}"
    return f" >= {least:,}" if least is not None else f" <= {most:,}" if most is not None else ""
