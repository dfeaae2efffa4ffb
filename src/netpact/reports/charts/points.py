"""A figure of points in a plane, in one or two groups, with lines through them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from netpact.core.errors import PactError
from netpact.reports.charts.axes import Axis, draw_across, draw_upward
from netpact.reports.charts.curves import Curve
from netpact.reports.charts.figure import Figure
from netpact.reports.charts.legend import draw_legend
from netpact.reports.charts.marks import draw_bound, draw_test
from netpact.reports.charts.shapes import Line, Point, Shape

_LEFT, _RIGHT, _TOP, _HEIGHT = 58.0, 14.0, 12.0, 280.0
_TICKS = 6
_ROOM = 0.04  # of the span, at both ends
_LINES = ("worst other", "worst", "train")
_MARKS: tuple[Callable[[float, float], Shape], ...] = (partial(draw_test, original=False), draw_bound)


@dataclass(frozen=True)
class Cloud:
    """A name, and points with the name of each."""

    name: str
    points: tuple[Point, ...]
    labels: tuple[str, ...]


def draw_points(
    clouds: Sequence[Cloud],
    lines: Sequence[Curve] = (),
    *,
    name: str,
    title: str,
    x_title: str,
    y_title: str,
    width: int = 760,
) -> Figure:
    """Circles for the first group, diamonds for the second; of a line the part within the figure is drawn."""
    points = [point for cloud in clouds for point in cloud.points]
    if not points or len(clouds) > len(_MARKS) or len(lines) > len(_LINES):
        most = f"up to {len(_MARKS)} groups of points and {len(_LINES)} lines"
        raise PactError(f"needs {most}, got {len(clouds)} and {len(lines)}", where="figure")
    right, bottom = width - _RIGHT, _TOP + _HEIGHT
    across = Axis(*_widen([x for x, _ in points]), _LEFT, right)
    upward = Axis(*_widen([y for _, y in points]), bottom, _TOP)
    parts: list[Shape] = [
        *draw_upward(upward, upward.ticks(most=_TICKS), title=y_title, left=_LEFT, right=right),
        *draw_across(across, across.ticks(most=_TICKS), title=x_title, bottom=bottom),
    ]
    for kind, line in zip(_LINES, lines, strict=False):
        inside = _clip(line.points, upward.low, upward.high)
        if inside is not None:
            (x1, y1), (x2, y2) = ((across.place(x), upward.place(y)) for x, y in inside)
            parts.append(Line(kind=kind, x1=x1, y1=y1, x2=x2, y2=y2))
    for mark, cloud in zip(_MARKS, clouds, strict=False):
        parts += [mark(across.place(x), upward.place(y)) for x, y in cloud.points]
    entries = [(cloud.name, mark) for mark, cloud in zip(_MARKS, clouds, strict=False)]
    entries += [(line.name, partial(_key, kind)) for kind, line in zip(_LINES, lines, strict=False)]
    legend, height = draw_legend(entries, left=_LEFT, right=right, top=bottom + 62, mark_width=22)
    return Figure(
        name=name,
        title=title,
        description=" ".join(f"{cloud.name}: {len(cloud.points)} points." for cloud in clouds),
        width=width,
        height=height,
        shapes=(*parts, *legend),
        numbers=tuple(
            {"group": cloud.name, "point": label, x_title: x, y_title: y}
            for cloud in clouds
            for label, (x, y) in zip(cloud.labels, cloud.points, strict=True)
        ),
    )


def _clip(points: tuple[Point, ...], low: float, high: float) -> tuple[Point, Point] | None:
    """The part of a straight line, given by its ends, whose y is from low to high."""
    (x1, y1), (x2, y2) = points[0], points[-1]
    if y1 == y2:
        return ((x1, y1), (x2, y2)) if low <= y1 <= high else None
    shares = sorted(((low - y1) / (y2 - y1), (high - y1) / (y2 - y1)))
    start, end = max(0.0, shares[0]), min(1.0, shares[1])
    if start >= end:
        return None
    return (x1 + start * (x2 - x1), y1 + start * (y2 - y1)), (x1 + end * (x2 - x1), y1 + end * (y2 - y1))


def _key(kind: str, x: float, y: float) -> Shape:
    return Line(kind=kind, x1=x - 11, y1=y, x2=x + 11, y2=y)


def _widen(numbers: Sequence[float]) -> tuple[float, float]:
    low, high = min(numbers), max(numbers)
    room = _ROOM * (high - low) if high > low else 0.5
    return low - room, high + room
