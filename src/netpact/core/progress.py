"""How long work says how far it is, an optional callback called with (done, total); what is left; how it is stopped."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

Progress = Callable[[int, int], None]
Stop = Callable[[], bool]  # asked between steps; where it is true, the work ends with what it has

_QUIET = 2.0  # seconds without an estimate at the start: the first steps load and allocate
_KEPT = 256  # reports at most, roughly: those that come closer together replace each other
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0


class TimeLeft:
    """Seconds until work is done, from how fast its last part went.

    Told how far the work is at given times. The speed is that of the later half of the time so far, and of at least one
    step; what was found finished within the first two seconds counts for nothing after them. Between two reports the
    estimate counts down; a step that takes longer than the steps before makes the speed lower, not the estimate 0.
    """

    def __init__(self, now: float, done: float = 0.0) -> None:
        self._start = now
        self._reports: deque[tuple[float, float]] = deque([(now, done)])
        self._total: float | None = None

    def hear(self, done: float, total: float | None, now: float) -> None:
        """At time `now`, in seconds of any clock. Work that falls back, or whose total changes, begins anew."""
        if total != self._total or done < self._reports[-1][1]:
            known = self._total is not None
            self._total = total
            if known:
                self._start = now
                self._reports = deque([(now, done)])
        if done > self._reports[-1][1]:
            if len(self._reports) > 1 and now - self._reports[-2][0] < (now - self._start) / _KEPT:
                self._reports.pop()
            self._reports.append((now, done))

    def seconds(self, now: float) -> float | None:
        """None where nothing can be said yet."""
        elapsed = now - self._start
        if self._total is None or elapsed < _QUIET:
            return None
        while len(self._reports) > 1 and self._reports[1][0] <= now - elapsed / 2:
            if len(self._reports) == 2 and self._reports[1][0] - self._start > _QUIET:
                break
            self._reports.popleft()
        (since, before), (last, done) = self._reports[0], self._reports[-1]
        if done <= before or last <= since:
            return None
        each = (last - since) / (len(self._reports) - 1)
        waited = now - last
        pace = (last - since + max(0.0, waited - each)) / (done - before)
        return max(0.0, pace * (self._total - done) - min(waited, each))


def time_words(seconds: float) -> str:
    """A length of time that is only roughly known: 1 second, 40 seconds, 3 minutes, 5 hours, 3 days."""
    for unit, length, most in (
        ("second", 1.0, 1.5 * _MINUTE),
        ("minute", _MINUTE, 2 * _HOUR),
        ("hour", _HOUR, 2 * _DAY),
    ):
        if seconds < most:
            return _counted(max(1, round(seconds / length)), unit)
    return _counted(round(seconds / _DAY), "day")


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count:,} {unit}s"
