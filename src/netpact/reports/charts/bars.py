"""Bars of bounds on a logarithmic scale, like Figure 2 of Arora et al. 2018."""

from __future__ import annotations

import math
from collections.abc import Sequence

from netpact.bounds.logs import power_text
from netpact.reports.bound_rows import Row, sort_bounds
from netpact.reports.charts.axes import Axis, draw_across
from netpact.reports.charts.figure import Figure
from netpact.reports.charts.shapes import Line, Rect, Shape, Words
from netpact.reports.text import shorten

_FONT = 12.0
_LANE = 24.0
_BAR = 14.0
_RIGHT = 64.0
_TOP = 26.0
_MOST_TICKS = 9


def draw_bars(rows: Sequence[Row], *, samples: int, width: int = 760) -> Figure:
    """Bars of log10 capacity. A certificate is filled, an estimate a dashed outline: the two never look alike.

    A dashed line stands at the number of samples: a capacity beyond it says nothing about the error.
    """
    ordered = sort_bounds(rows)
    left = min(0.42 * width, 180.0)
    right = width - _RIGHT
    limit = math.log10(samples)
    known = [row.log10 for row in ordered if math.isfinite(row.log10)]
    low, high = math.floor(min([0.0, *known])), math.ceil(max([1.0, limit, *known]))
    bottom = _TOP + _LANE * len(ordered)
    axis = Axis(low, high, left, right)
    ticks = axis.ticks(_power, least=1, most=_MOST_TICKS)
    parts = draw_across(axis, ticks, top=_TOP, bottom=bottom, say=_power)
    for number, row in enumerate(ordered):
        parts.extend(_draw_bar(row, y=_TOP + number * _LANE, left=left, end=axis.place(min(max(row.log10, low), high))))
    x = axis.place(limit)
    parts.append(Line(kind="pole original", x1=x, y1=_TOP - 6, x2=x, y2=bottom))
    parts.append(Words(text=f"{samples:,} samples", kind="axis", x=x, y=_TOP - 10, anchor="middle"))
    words = "capacity (logarithmic); filled: certificate, dashed outline: estimate"
    # Centred in the whole figure: on a narrow one the axis is shorter than its title.
    parts.append(Words(text=words, kind="axis", x=width / 2, y=bottom + 36, anchor="middle"))
    said = " ".join(f"{row.name}, {row.kind}: capacity {power_text(row.log10)}." for row in ordered)
    return Figure(
        name="bounds",
        title="Capacity of each bound",
        description=said,
        width=width,
        height=bottom + 46,
        shapes=tuple(parts),
        numbers=tuple(_numbers(row) for row in ordered),
    )


def _numbers(row: Row) -> dict[str, object]:
    told = {"bound": row.name, "kind": row.kind, "log10_capacity": row.log10, "error": row.value}
    return {**told, "samples": row.samples, "from": row.theorem}


def _draw_bar(row: Row, *, y: float, left: float, end: float) -> list[Shape]:
    certain = row.kind == "certificate"
    bar = Rect(kind="bound" if certain else "estimate", x=left, y=y + 5, width=max(end - left, 0.0), height=_BAR)
    name = shorten(row.name, room=left - 12, font_size=_FONT)
    label = Words(text=name, kind="name best" if certain else "name", x=left - 8, y=y + 16, anchor="end")
    return [bar, label, Words(text=power_text(row.log10, digits=1), kind="tick", x=end + 6, y=y + 16)]


def _power(number: float) -> str:
    return f"1e{number:.0f}"
