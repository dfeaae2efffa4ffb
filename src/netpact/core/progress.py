"""How long work says how far it is: an optional callback, called with (done, total); and how it is told to stop."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
Stop = Callable[[], bool]  # asked between steps; where it is true, the work ends with what it has
