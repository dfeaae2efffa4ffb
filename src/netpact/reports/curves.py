"""A figure of curves over epochs, all on one linear axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from netpact.core.errors import PactError
from netpact.reports.figure import Figure
from netpact.reports.shapes import Line, Point, Shape, Words
from netpact.reports.text import text_width

_FONT = 12.0
_LEFT, _RIGHT, _TOP, _HEIGHT = 58.0, 14.0, 12.0, 240.0
_TICKS = 5
# Classes of the style sheet, each with its own colour or dashes; a figure has no more curves than there are classes.
_KINDS = ("worst", "worst other", "train", "stem")


@dataclass(frozen=True)
class Curve:
    """A name and points (x, y), x rising."""

    name: str
    points: tuple[Point, ...]


def draw_curves(
    curves: Sequence[Curve], *, name: str, title: str, x_title: str, y_title: str, width: int = 760
) -> Figure:
    """Straight lines between the points; the legend stands below."""
    points = [point for curve in curves for point in curve.points]
    if not points or len(curves) > len(_KINDS):
        raise PactError(f"from 1 to {len(_KINDS)} curves with points are needed, got {len(curves)}", where="figure")
    x_low, x_high = _widen(min(x for x, _ in points), max(x for x, _ in points))
    y_low, y_high = _widen(min(y for _, y in points), max(y for _, y in points))
    right, bottom = width - _RIGHT, _TOP + _HEIGHT

    def place(point: Point) -> Point:
        return (
            _LEFT + (point[0] - x_low) / (x_high - x_low) * (right - _LEFT),
            bottom - (point[1] - y_low) / (y_high - y_low) * _HEIGHT,
        )

    parts: list[Shape] = []
    for number in _ticks(y_low, y_high):
        y = place((x_low, number))[1]
        parts.append(Line(kind="grid", x1=_LEFT, y1=y, x2=right, y2=y))
        parts.append(Words(text=f"{number:g}", kind="tick", x=_LEFT - 7, y=y + 4, anchor="end"))
    for number in _ticks(x_low, x_high):
        x = place((number, y_low))[0]
        parts.append(Line(kind="base", x1=x, y1=bottom, x2=x, y2=bottom + 5))
        parts.append(Words(text=f"{number:g}", kind="tick", x=x, y=bottom + 19, anchor="middle"))
    parts.append(Words(text=x_title, kind="axis", x=(_LEFT + right) / 2, y=bottom + 39, anchor="middle"))
    parts.append(Words(text=y_title, kind="axis", x=14, y=_TOP + _HEIGHT / 2, anchor="middle", turned=True))
    for kind, curve in zip(_KINDS, curves, strict=False):
        for (x1, y1), (x2, y2) in pairwise([place(point) for point in curve.points]):
            parts.append(Line(kind=kind, x1=x1, y1=y1, x2=x2, y2=y2))
        if len(curve.points) == 1:
            x, y = place(curve.points[0])
            parts.append(Line(kind=kind, x1=x - 4, y1=y, x2=x + 4, y2=y))
    legend, height = _draw_legend([curve.name for curve in curves], right=right, top=bottom + 62)
    said = " ".join(f"{curve.name}: from {curve.points[0][1]:.4g} to {curve.points[-1][1]:.4g}." for curve in curves)
    return Figure(
        name=name,
        title=title,
        description=said,
        width=width,
        height=height,
        shapes=(*parts, *legend),
        numbers=tuple({"curve": one.name, x_title: x, y_title: y} for one in curves for x, y in one.points),
    )


def _draw_legend(names: Sequence[str], *, right: float, top: float) -> tuple[list[Shape], float]:
    parts: list[Shape] = []
    x, y = _LEFT, top
    for kind, name in zip(_KINDS, names, strict=False):
        room = 32 + text_width(name, font_size=_FONT)
        if x > _LEFT and x + room > right:
            x, y = _LEFT, y + 21
        parts.append(Line(kind=kind, x1=x, y1=y, x2=x + 22, y2=y))
        parts.append(Words(text=name, kind="key", x=x + 28, y=y + 4))
        x += room + 14
    return parts, y + 21


def _widen(low: float, high: float) -> tuple[float, float]:
    """At least some room between the ends, so that a flat curve can be drawn."""
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers at equal steps: the densest of 1-2-5 that are no more than a few."""
    power = 10.0 ** math.floor(math.log10((high - low) / _TICKS))
    step = next(power * digit for digit in (1, 2, 5, 10) if (high - low) / (power * digit) <= _TICKS)
    return [round(number * step, 12) for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
