"""A figure of tiles: a number between 0 and 1 for each pair of a column and a row, in six shades."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from netpact.core.errors import PactError
from netpact.reports.charts.axes import Axis, draw_across
from netpact.reports.charts.figure import Figure
from netpact.reports.charts.legend import draw_legend
from netpact.reports.charts.looks import FONT_SIZE
from netpact.reports.charts.shapes import Rect, Shape, Words

SHADES = tuple(f"shade {letter}" for letter in "abcdef")
_LEFT, _RIGHT, _TOP, _ROW = 58.0, 14.0, 12.0, 34.0


def draw_tiles(
    numbers: Sequence[Sequence[float]],
    *,
    columns: Sequence[float],
    rows: Sequence[object],
    name: str,
    title: str,
    x_title: str,
    y_title: str,
    width: int = 760,
) -> Figure:
    """numbers[row][column] from 0 to 1; columns are evenly spaced numbers in rising order, the first row is below."""
    if len(columns) < 2 or not rows or [len(row) for row in numbers] != [len(columns)] * len(rows):
        raise PactError(f"{len(rows)} rows of {len(columns)} columns are needed, two at least", where="figure")
    right, bottom = width - _RIGHT, _TOP + _ROW * len(rows)
    step = (columns[-1] - columns[0]) / (len(columns) - 1)
    across = Axis(columns[0] - step / 2, columns[-1] + step / 2, _LEFT, right)
    parts: list[Shape] = [*draw_across(across, across.ticks(most=6), title=x_title, bottom=bottom)]
    for place, (label, row) in enumerate(zip(rows, numbers, strict=True)):
        top = bottom - _ROW * (place + 1)
        parts.append(Words(kind="tick", text=str(label), x=_LEFT - 7, y=top + (_ROW + FONT_SIZE) / 2 - 2, anchor="end"))
        for column, number in zip(columns, row, strict=True):
            left, end = across.place(column - step / 2), across.place(column + step / 2)
            parts.append(Rect(kind=shade(number), x=left, y=top, width=end - left, height=_ROW))
    parts.append(Words(kind="axis", text=y_title, x=14, y=(_TOP + bottom) / 2, anchor="middle", turned=True))
    entries = [(_words(place), partial(_key, kind)) for place, kind in enumerate(SHADES)]
    legend, height = draw_legend(entries, left=_LEFT, right=right, top=bottom + 62, mark_width=16)
    flat = [float(number) for row in numbers for number in row]
    return Figure(
        name=name,
        title=title,
        description=f"{len(rows)} rows of {len(columns)} numbers from {min(flat):.3g} to {max(flat):.3g}.",
        width=width,
        height=height,
        shapes=(*parts, *legend),
        numbers=tuple(
            {x_title: column, y_title: label, "number": number}
            for label, row in zip(rows, numbers, strict=True)
            for column, number in zip(columns, row, strict=True)
        ),
    )


def shade(number: float) -> str:
    """Sixths of the way from 0 to 1, the light ones low; what lies outside takes the nearest."""
    return SHADES[min(max(int(number * len(SHADES)), 0), len(SHADES) - 1)]


def _words(place: int) -> str:
    return f"{place / len(SHADES):.2f} to {(place + 1) / len(SHADES):.2f}"


def _key(kind: str, x: float, y: float) -> Shape:
    return Rect(kind=kind, x=x - 8, y=y - 6, width=16, height=12)
