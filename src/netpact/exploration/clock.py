"""The time that a search may take, with what its last steps need set aside."""

from __future__ import annotations

import math
import time


class OutOfTimeError(Exception):
    """The budget ended in the middle of a trial that has nothing to show before its end."""


class Clock:
    """Counts from its construction. Without a budget everything is done: the result then depends on no clock.

    seconds  the budget, or None
    """

    def __init__(self, seconds: float | None) -> None:
        self._started, self._seconds = time.monotonic(), seconds
        self._reserved = 0.0

    @property
    def is_limited(self) -> bool:
        return self._seconds is not None

    def elapsed(self) -> float:
        return time.monotonic() - self._started

    def reserve(self, seconds: float) -> None:
        """Set time aside for what comes after the trials; the most that was ever asked for counts."""
        self._reserved = max(self._reserved, seconds)

    def left(self, share: float = 1.0) -> float:
        """Seconds until this share of the budget is used up."""
        if self._seconds is None:
            return math.inf
        return share * (self._seconds - self._reserved) - self.elapsed()

    def is_over(self) -> bool:
        return self.left() <= 0
