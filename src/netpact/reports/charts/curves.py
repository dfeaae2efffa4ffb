"""A figure of curves, all on one linear axis; what they are drawn over may be on a logarithmic one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from netpact.core.errors import PactError
from netpact.reports.charts.axes import Axis, draw_across, draw_upward
from netpact.reports.charts.figure import Figure
from netpact.reports.charts.legend import draw_legend
from netpact.reports.charts.shapes import Line, Point, Shape

_LEFT, _RIGHT, _TOP, _HEIGHT = 58.0, 14.0, 12.0, 240.0
_TICKS = 6
# Classes of the style sheet, each with its own colour or dashes; a figure has no more curves than there are classes.
_KINDS = ("worst", "worst other", "train", "stem")


@dataclass(frozen=True)
class Curve:
    """A name and points (x, y), x rising."""

    name: str
    points: tuple[Point, ...]


def draw_curves(
    curves: Sequence[Curve],
    *,
    name: str,
    title: str,
    x_title: str,
    y_title: str,
    width: int = 760,
    logarithmic: bool = False,
) -> Figure:
    """Straight lines between the points; the legend stands below. logarithmic: the axis of x, all above 0."""
    points = [point for curve in curves for point in curve.points]
    if not points or len(curves) > len(_KINDS):
        raise PactError(f"from 1 to {len(_KINDS)} curves with points are needed, got {len(curves)}", where="figure")
    right, bottom = width - _RIGHT, _TOP + _HEIGHT
    across = Axis(*_widen([x for x, _ in points]), _LEFT, right, logarithmic)
    upward = Axis(*_widen([y for _, y in points]), bottom, _TOP)
    parts = [
        *draw_upward(upward, upward.ticks(most=_TICKS), title=y_title, left=_LEFT, right=right),
        *draw_across(across, across.ticks(most=_TICKS), title=x_title, bottom=bottom),
    ]
    for kind, curve in zip(_KINDS, curves, strict=False):
        places = [(across.place(x), upward.place(y)) for x, y in curve.points]
        if len(places) == 1:
            (x, y) = places[0]
            places = [(x - 4, y), (x + 4, y)]
        parts += [Line(kind=kind, x1=x1, y1=y1, x2=x2, y2=y2) for (x1, y1), (x2, y2) in pairwise(places)]
    entries = [(curve.name, partial(_key, kind)) for kind, curve in zip(_KINDS, curves, strict=False)]
    legend, height = draw_legend(entries, left=_LEFT, right=right, top=bottom + 62, mark_width=22)
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


def _key(kind: str, x: float, y: float) -> Shape:
    return Line(kind=kind, x1=x - 11, y1=y, x2=x + 11, y2=y)


def _widen(numbers: Sequence[float]) -> tuple[float, float]:
    """At least some room between the ends, so that a flat curve can be drawn."""
    low, high = min(numbers), max(numbers)
    return (low, high) if high > low else (low - 0.5, high + 0.5)
