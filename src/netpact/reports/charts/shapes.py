"""What figures are made of. A shape's kind names its look, see looks.py; y runs downwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Line:
    kind: str
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, kw_only=True)
class Rect:
    kind: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, kw_only=True)
class Circle:
    kind: str
    x: float
    y: float
    radius: float


@dataclass(frozen=True, kw_only=True)
class Path:
    """Straight lines through the points, back to the first one if it is closed."""

    kind: str
    points: tuple[Point, ...]
    closed: bool = False


@dataclass(frozen=True, kw_only=True)
class Words:
    """anchor: which end of the text stands at (x, y), start, middle or end. turned: read from below."""

    kind: str
    text: str
    x: float
    y: float
    anchor: str = "start"
    turned: bool = False


@dataclass(frozen=True, kw_only=True)
class Group:
    """Shapes that belong together, the marks of one network for example. title: shown where a pointer rests on it."""

    kind: str
    shapes: tuple[Shape, ...]
    title: str = ""


Shape = Line | Rect | Circle | Path | Words | Group


def flatten(shapes: Sequence[Shape]) -> Iterator[Line | Rect | Circle | Path | Words]:
    for shape in shapes:
        if isinstance(shape, Group):
            yield from flatten(shape.shapes)
        else:
            yield shape
