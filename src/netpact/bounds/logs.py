"""Sums and products of positive numbers by their natural logarithms: products of norms leave the range of floats."""

from __future__ import annotations

import math
from collections.abc import Iterable

_LARGEST = 709.0  # exp of more overflows a float


def log(number: float) -> float:
    """ln with ln 0 = -inf; numbers here are norms and counts, from 0 up."""
    return math.log(number) if number > 0 else -math.inf


def log_sum(logs: Iterable[float]) -> float:
    """ln of the sum of numbers that are given by their logarithms."""
    found = list(logs)
    highest = max(found, default=-math.inf)
    if math.isinf(highest):
        return highest
    return highest + math.log(math.fsum(math.exp(one - highest) for one in found))


def log_product(numbers: Iterable[float]) -> float:
    """ln of the product; a factor 0 makes it -inf, whatever the others are."""
    return math.fsum(found) if all(map(math.isfinite, found := [log(one) for one in numbers])) else -math.inf


def capacity_of(excess: float, *, samples: int) -> float:
    """ln of the capacity C with sqrt(C / samples) = excess: how a bound of another shape states its value."""
    return 2.0 * log(excess) + math.log(samples)


def power_text(log10: float, *, digits: int = 2) -> str:
    """A number by its logarithm to base 10, as a reader sees it: 1e6.40, and words where there is no such power."""
    if math.isfinite(log10):
        return f"1e{log10:.{digits}f}"
    return "infinite" if log10 > 0 else "0"


def exp(log_number: float) -> float:
    """The number that is given by its logarithm; infinite beyond the range of floats."""
    return math.exp(log_number) if log_number < _LARGEST else math.inf
