"""The shapes of the figure. Kind is told by shape first and by colour second."""

from __future__ import annotations

from collections.abc import Callable

from netpact.reports.charts.shapes import Circle, Group, Line, Path, Rect, Shape
from netpact.reports.rows import Row


def draw_bound(x: float, y: float) -> Shape:
    """A diamond, from its upper corner on."""
    return Path(kind="bound", points=((x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)), closed=True)


def draw_expected(x: float, y: float) -> Shape:
    """The same in outline: what nobody has proven."""
    return Path(kind="expected", points=((x, y - 5), (x + 5, y), (x, y + 5), (x - 5, y)), closed=True)


def draw_test(x: float, y: float, *, original: bool) -> Shape:
    """A circle; a square for the original network, about which nothing is certified."""
    if original:
        return Rect(kind="test original", x=x - 4, y=y - 4, width=8, height=8)
    return Circle(kind="test", x=x, y=y, radius=4.2)


def draw_train(x: float, y: float) -> Shape:
    return Line(kind="train", x1=x - 6, y1=y, x2=x + 6, y2=y)


def draw_band(x: float, y: float) -> Shape:
    return Rect(kind="band key", x=x - 7, y=y - 5, width=14, height=10)


def draw_pole(*, x: float, start: float, end: float, original: bool) -> Shape:
    """The line from a label down to its topmost mark."""
    return Line(kind="pole original" if original else "pole", x1=x, y1=start, x2=x, y2=end)


def draw_front(x: float, y: float) -> Shape:
    """The key of the line through the best of each size."""
    return Path(kind="front", points=((x - 10, y - 4), (x, y - 4), (x, y + 4), (x + 10, y + 4)))


def heights(row: Row) -> list[float]:
    """The shares that are drawn of a row."""
    return [share for share in (row.train_error, row.test_error, row.proven, row.expected_bound) if share is not None]


def draw_marks(row: Row, *, x: float, height_of: Callable[[float], float], title: str = "") -> Group:
    """The marks of one network, joined by a thin vertical line."""
    low, high = height_of(min(heights(row))), height_of(max(heights(row)))
    kind = "stem" if row.expected_bound is None else "stem expected"
    parts: list[Shape] = [Line(kind=kind, x1=x, y1=low, x2=x, y2=high)]
    if row.train_error is not None:
        parts.append(draw_train(x, height_of(row.train_error)))
    if row.test_error is not None:
        parts.append(draw_test(x, height_of(row.test_error), original=row.original))
    if row.expected_bound is not None:
        parts.append(draw_expected(x, height_of(row.expected_bound)))
    if row.proven is not None:
        parts.append(draw_bound(x, height_of(row.proven)))
    return Group(kind="network", shapes=tuple(parts), title=title)
