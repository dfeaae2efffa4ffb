"""Bisection that hands back the proven end of the bracket, never the middle."""

from __future__ import annotations

from collections.abc import Callable

# Halvings stop when the bracket is this narrow, relative to its upper end: far below the 1e-9 that a bound is good to.
_WIDTH = 1e-13
# From a bracket of width 1, 120 halvings reach that width for every upper end above 1e-23.
_MAX_HALVINGS = 120


def safe_end(is_safe: Callable[[float], bool], *, low: float, high: float) -> float:
    """The upper end of a bracket around the place where is_safe turns from False to True.

    `high` must be safe on entry. Only points that is_safe has approved replace it, so stopping early, or an is_safe
    that errs on the side of False, gives a looser answer and never a wrong one.
    """
    for _ in range(_MAX_HALVINGS):
        middle = 0.5 * (low + high)
        if high - low <= _WIDTH * high or not low < middle < high:
            break
        if is_safe(middle):
            high = middle
        else:
            low = middle
    return high
