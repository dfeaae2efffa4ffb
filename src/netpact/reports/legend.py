"""The figure's legend: only what is drawn, wrapped to the width there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from netpact.reports.marks import draw_bound, draw_test, draw_train
from netpact.reports.rows import Row
from netpact.reports.shapes import Rect, Shape, Words
from netpact.reports.text import text_width

_LINE = 21.0
_TEXT_AT = 19.0


def draw_legend(
    rows: Sequence[Row], *, left: float, right: float, top: float, font_size: float
) -> tuple[list[Shape], float]:
    """The legend and the y at which it ends."""
    parts: list[Shape] = []
    x, y = left, top
    for words, draw in _entries(rows):
        room = _TEXT_AT + text_width(words, font_size=font_size)
        if x > left and x + room > right:
            x, y = left, y + _LINE
        parts.append(draw(x + 7, y))
        parts.append(Words(text=words, kind="key", x=x + _TEXT_AT, y=y + 4))
        x += room + 14
    return parts, y + _LINE


def _entries(rows: Sequence[Row]) -> list[tuple[str, Callable[[float, float], Shape]]]:
    entries: list[tuple[str, Callable[[float, float], Shape]]] = []
    if any(row.proven is not None for row in rows):
        entries.append(("certified bound", draw_bound))
    if any(row.test_error is not None and not row.original for row in rows):
        entries.append(("test error", partial(draw_test, original=False)))
    entries.append(("train error", draw_train))
    if any(row.test_error is not None and row.original for row in rows):
        entries.append(("test error of the original", partial(draw_test, original=True)))
    entries.append(("no better than guessing", _draw_band))
    return entries


def _draw_band(x: float, y: float) -> Shape:
    return Rect(kind="band key", x=x - 7, y=y - 5, width=14, height=10)
