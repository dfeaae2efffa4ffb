"""The shapes of the figure. Kind is told by shape first and by colour second."""

from __future__ import annotations

from collections.abc import Callable

from netpact.reports.rows import Row
from netpact.reports.svg import draw_line, draw_rect


def draw_bound(x: float, y: float) -> str:
    return f'<path class="bound" d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z"/>'


def draw_test(x: float, y: float, *, original: bool) -> str:
    """A circle; a square for the original network, about which nothing is certified."""
    if original:
        return draw_rect("test original", x=x - 4, y=y - 4, width=8, height=8)
    return f'<circle class="test" cx="{x:.1f}" cy="{y:.1f}" r="4.2"/>'


def draw_train(x: float, y: float) -> str:
    return draw_line("train", x1=x - 6, y1=y, x2=x + 6, y2=y)


def draw_pole(*, x: float, start: float, end: float, original: bool) -> str:
    """The line from a label down to its topmost mark."""
    return draw_line("pole original" if original else "pole", x1=x, y1=start, x2=x, y2=end)


def draw_marks(row: Row, *, x: float, height_of: Callable[[float], float]) -> str:
    """The marks of one network, joined by a thin vertical line."""
    shares = [share for share in (row.train_error, row.test_error, row.proven) if share is not None]
    low, high = height_of(min(shares)), height_of(max(shares))
    parts = [draw_line("stem", x1=x, y1=low, x2=x, y2=high)]
    parts.append(draw_train(x, height_of(row.train_error)))
    if row.test_error is not None:
        parts.append(draw_test(x, height_of(row.test_error), original=row.original))
    if row.proven is not None:
        parts.append(draw_bound(x, height_of(row.proven)))
    return f'<g class="network">{"".join(parts)}</g>'
