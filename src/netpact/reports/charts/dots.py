"""A figure of dots: one row for each layer, file or finding, and in it a mark for each of up to four series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from netpact.core.errors import PactError
from netpact.reports.charts.axes import Axis, draw_across, span_axis
from netpact.reports.charts.figure import Figure
from netpact.reports.charts.legend import Mark, draw_legend
from netpact.reports.charts.looks import FONT_SIZE
from netpact.reports.charts.marks import draw_bound, draw_test
from netpact.reports.charts.shapes import Circle, Group, Line, Rect, Shape, Words
from netpact.reports.text import shorten, text_width

_ROW, _TOP, _RIGHT = 22.0, 10.0, 20.0


@dataclass(frozen=True)
class Series:
    """A name, and the numbers of each row: none, one, or several (of several seeds)."""

    name: str
    numbers: tuple[tuple[float, ...], ...]


def draw_dots(
    rows: Sequence[str],
    series: Sequence[Series],
    *,
    name: str,
    title: str,
    axis_title: str,
    width: int = 760,
    logarithmic: bool = True,
) -> Figure:
    """What the axis cannot show (infinity; 0 and below on a logarithmic one) is not drawn, and is in the numbers."""
    if not rows or not 1 <= len(series) <= len(_MARKS) or any(len(one.numbers) != len(rows) for one in series):
        raise PactError(f"needs rows, and from 1 to {len(_MARKS)} series with numbers for each", where="figure")
    left = min(width / 3, 18 + max(text_width(row, font_size=FONT_SIZE) for row in rows))
    shown = [_shown(numbers, logarithmic) for one in series for numbers in one.numbers]
    axis = _axis([number for numbers in shown for number in numbers], left, width - _RIGHT, logarithmic)
    bottom = _TOP + _ROW * len(rows)
    named = f"{axis_title} (logarithmic)" if logarithmic else axis_title
    parts = draw_across(axis, axis.ticks(), top=_TOP, bottom=bottom)
    # Centred in the whole figure: on a narrow one the axis is shorter than its title.
    parts.append(Words(text=named, kind="axis", x=width / 2, y=bottom + 36, anchor="middle"))
    for place, row in enumerate(rows):
        y = _TOP + _ROW * (place + 0.5)
        label = shorten(row, room=left - 14, font_size=FONT_SIZE)
        parts.append(Words(text=label, kind="name", x=left - 10, y=y + 4, anchor="end"))
        parts.append(Line(kind="grid", x1=left, y1=y, x2=axis.right, y2=y))
        marks = [
            mark(axis.place(number), y)
            for mark, one in zip(_MARKS, series, strict=False)
            for number in _shown(one.numbers[place], logarithmic)
        ]
        parts.append(Group(kind="network", shapes=tuple(marks), title=_describe(row, place, series)))
    entries = [(one.name, mark) for mark, one in zip(_MARKS, series, strict=False)]
    legend, height = draw_legend(entries, left=min(left, 40.0), right=axis.right, top=bottom + 60)
    return Figure(
        name=name,
        title=title,
        description=" ".join(f"{_describe(row, place, series)}." for place, row in enumerate(rows)),
        width=width,
        height=height,
        shapes=(*parts, *legend),
        numbers=tuple(
            {"row": row, "series": one.name, axis_title: number}
            for place, row in enumerate(rows)
            for one in series
            for number in one.numbers[place]
        ),
    )


def _shown(numbers: Sequence[float], logarithmic: bool) -> list[float]:
    return [number for number in numbers if math.isfinite(number) and (number > 0 or not logarithmic)]


def _axis(numbers: Sequence[float], left: float, right: float, logarithmic: bool) -> Axis:
    if logarithmic:
        return span_axis(numbers, least=4, room=1.2, left=left, right=right)
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    room = 0.05 * (high - low) or max(abs(high), 1.0) / 2
    return Axis(low - room, high + room, left, right)


def _describe(row: str, place: int, series: Sequence[Series]) -> str:
    told = [
        f"{one.name} {', '.join(f'{number:.4g}' for number in one.numbers[place])}"
        for one in series
        if one.numbers[place]
    ]
    return f"{row}: {'; '.join(told) or 'no numbers'}"


def _square(x: float, y: float) -> Shape:
    return Rect(kind="paper", x=x - 4.5, y=y - 4.5, width=9, height=9)


def _dot(x: float, y: float) -> Shape:
    return Circle(kind="part delta", x=x, y=y, radius=4.0)


# Told apart by shape, and by colour: a diamond, a ring, a square, a dot.
_MARKS: tuple[Mark, ...] = (draw_bound, partial(draw_test, original=False), _square, _dot)
