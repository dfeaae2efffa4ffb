"""How long work says how far it is: an optional callback, called with (done, total)."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
