"""The legend below a figure, wrapped to the width there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from netpact.reports.charts.looks import FONT_SIZE
from netpact.reports.charts.shapes import Shape, Words
from netpact.reports.text import text_width

_LINE, _APART = 21.0, 14.0
Mark = Callable[[float, float], Shape]  # drawn around a point


def draw_legend(
    entries: Sequence[tuple[str, Mark]], *, left: float, right: float, top: float, mark_width: float = 14.0
) -> tuple[list[Shape], float]:
    """The legend and the y at which it ends."""
    parts: list[Shape] = []
    x, y = left, top
    text_at = mark_width + 5
    for words, draw in entries:
        room = text_at + text_width(words, font_size=FONT_SIZE)
        if x > left and x + room > right:
            x, y = left, y + _LINE
        parts.append(draw(x + mark_width / 2, y))
        parts.append(Words(text=words, kind="key", x=x + text_at, y=y + 4))
        x += room + _APART
    return parts, y + _LINE
