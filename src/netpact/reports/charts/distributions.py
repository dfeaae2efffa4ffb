"""A figure of distributions over samples: one row a layer, a second network's as an outline over the first one's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.reports.charts.axes import Axis, draw_across, span_axis
from netpact.reports.charts.figure import Figure
from netpact.reports.charts.shapes import Group, Line, Path, Rect, Shape, Words
from netpact.reports.text import shorten, text_width

Numbers = NDArray[np.float64]

_FONT = 12.0
_ROW, _BAR = 46.0, 34.0
_RIGHT, _TOP = 14.0, 10.0
_BINS = 56


QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True, eq=False)
class Spread:
    """One row: a name, each sample's number, the worst of them; the same of a second network where there is one.

    quantiles  the numbers are no samples but the quantiles at QUANTILES: a box is drawn from them, no histogram
    """

    name: str
    numbers: Numbers
    worst: float
    others: Numbers | None = None
    other_worst: float | None = None
    quantiles: bool = False


def draw_distributions(
    rows: Sequence[Spread], *, name: str, title: str, axis_title: str, width: int, logarithmic: bool = True
) -> Figure:
    """Histograms on one axis; a tick below each marks the worst sample. Numbers that the axis cannot show (infinity; 0
    and below on a logarithmic one) are counted in words."""
    if not rows:
        raise PactError("no rows to draw", where="figure")
    left = min(width / 4, 14 + max(text_width(row.name, font_size=_FONT) for row in rows))
    drawn = np.concatenate([_drawn(numbers, logarithmic) for row in rows for numbers in _both(row)]).tolist()
    if logarithmic:
        axis = span_axis(drawn, least=2, room=1.05, left=left, right=width - _RIGHT)
    else:
        low, high = min(drawn, default=0.0), max(drawn, default=0.0)
        room = 0.02 * (high - low) or max(abs(high), 1.0) / 2
        axis = Axis(low - room, high + room, left, width - _RIGHT)
    named = f"{axis_title} (logarithmic)" if logarithmic else axis_title
    bottom = _TOP + _ROW * len(rows)
    parts = draw_across(axis, axis.ticks(), title=named, top=_TOP, bottom=bottom)
    for place, row in enumerate(rows):
        base = _TOP + _ROW * (place + 1) - 6
        label = shorten(row.name, room=left - 12, font_size=_FONT)
        parts.append(Words(text=label, kind="name", x=left - 10, y=base - 4, anchor="end"))
        parts.append(Line(kind="base", x1=left, y1=base, x2=axis.right, y2=base))
        parts.append(_draw_row(row, axis, base))
    described = " ".join(_describe(row) for row in rows)
    return Figure(
        name=name,
        title=title,
        description=described,
        width=width,
        height=bottom + 46,
        shapes=tuple(parts),
        numbers=tuple(_numbers(rows)),
        summary=tuple(_summary(rows)),
    )


def _summary(rows: Sequence[Spread]) -> Iterator[dict[str, object]]:
    """Quantiles: every sample's number would make a page too large."""
    for row in rows:
        for network, numbers, worst in zip(("first", "second"), _both(row), (row.worst, row.other_worst), strict=False):
            found = numbers if row.quantiles else np.quantile(numbers, QUANTILES, method="nearest")
            shares = {f"quantile {share:g}": number for share, number in zip(QUANTILES, found.tolist(), strict=True)}
            yield {"layer": row.name, "network": network, "worst": worst, **shares}


def _numbers(rows: Sequence[Spread]) -> Iterator[dict[str, object]]:
    """Every sample's number, in the order of the samples."""
    for row in rows:
        for network, numbers in zip(("first", "second"), _both(row), strict=False):
            for place, number in enumerate(numbers.tolist()):
                which = {"quantile": QUANTILES[place]} if row.quantiles else {"sample": place}
                yield {"layer": row.name, "network": network, **which, "value": number}


def _both(row: Spread) -> list[Numbers]:
    return [row.numbers] if row.others is None else [row.numbers, row.others]


def _drawn(numbers: Numbers, logarithmic: bool) -> Numbers:
    return numbers[np.isfinite(numbers) & ((numbers > 0) | (not logarithmic))]


def _draw_row(row: Spread, axis: Axis, base: float) -> Group:
    parts = _boxes(row, axis, base) if row.quantiles else _histogram(row, axis, base)
    for worst, kind in ((row.worst, "worst"), (row.other_worst, "worst other")):
        if worst is not None and len(_drawn(np.array([worst]), axis.logarithmic)):
            x = axis.place(worst)
            parts.append(Line(kind=kind, x1=x, y1=base - 4, x2=x, y2=base + 5))
    return Group(kind="layer", shapes=tuple(parts), title=_describe(row))


def _boxes(row: Spread, axis: Axis, base: float) -> list[Shape]:
    """From 5 % to 95 % a line, from 25 % to 75 % a box, the median across it; a second network's box stands below."""
    tall = 14.0 if row.others is None else 11.0
    parts: list[Shape] = []
    for numbers, kind, line, top in zip(
        _both(row), ("box", "box other"), ("worst", "worst other"), (base - 2 * tall - 3, base - tall - 1), strict=False
    ):
        if len(_drawn(numbers[1:6], axis.logarithmic)) < 5:
            parts.append(Words(text="not drawn", kind="tick", x=axis.right, y=top + 8, anchor="end"))
            continue
        low, quarter, median, three, high = (axis.place(number) for number in numbers[1:6].tolist())
        parts += [
            Line(kind="base", x1=low, y1=top + tall / 2, x2=high, y2=top + tall / 2),
            Rect(kind=kind, x=quarter, y=top, width=three - quarter, height=tall),
            Line(kind=line, x1=median, y1=top, x2=median, y2=top + tall),
        ]
    return parts


def _histogram(row: Spread, axis: Axis, base: float) -> list[Shape]:
    edges = (np.geomspace if axis.logarithmic else np.linspace)(axis.low, axis.high, _BINS + 1)
    drawn = [_drawn(numbers, axis.logarithmic) for numbers in _both(row)]
    counts = [np.histogram(own, edges)[0] / len(numbers) for own, numbers in zip(drawn, _both(row), strict=True)]
    highest = max(float(count.max()) for count in counts) or 1.0
    places = [axis.place(float(edge)) for edge in edges]
    parts: list[Shape] = []
    for start, end, share in zip(places, places[1:], counts[0], strict=False):
        if share > 0:
            tall = max(1.0, float(share) / highest * _BAR)
            parts.append(Rect(kind="spread", x=start, y=base - tall, width=end - start, height=tall))
    if row.others is not None:
        parts.extend(_outline(places, [float(share) / highest * _BAR for share in counts[1]], base))
    missing = sum(map(len, _both(row))) - sum(map(len, drawn))
    if missing:
        parts.append(Words(text=f"{missing} not drawn", kind="tick", x=axis.right, y=base - _BAR + 8, anchor="end"))
    return parts


def _outline(places: Sequence[float], heights: Sequence[float], base: float) -> list[Shape]:
    """A line of steps from the first bin that is not empty to the last."""
    full = [number for number, tall in enumerate(heights) if tall > 0]
    if not full:
        return []
    points = [(places[full[0]], base)]
    for number in range(full[0], full[-1] + 1):
        y = base - heights[number]
        points += [(places[number], y), (places[number + 1], y)]
    return [Path(kind="spread other", points=(*points, (places[full[-1] + 1], base)))]


def _describe(row: Spread) -> str:
    text = f"{row.name}: median {np.median(row.numbers):.4g}, worst {row.worst:.4g}"
    if row.others is not None and row.other_worst is not None:
        text += f"; the other network: median {np.median(row.others):.4g}, worst {row.other_worst:.4g}"
    return f"{text}."
