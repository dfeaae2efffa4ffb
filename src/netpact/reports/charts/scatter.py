"""The figure: error against size, with the certified bound above the measured errors of each network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from netpact.core.errors import PactError
from netpact.core.percent import percent, percent_up
from netpact.reports.charts.axes import Axis, draw_across, draw_upward, keep_apart, span_axis
from netpact.reports.charts.figure import Figure
from netpact.reports.charts.labels import Flag, hang_flags
from netpact.reports.charts.legend import Mark, draw_legend
from netpact.reports.charts.marks import (
    draw_band,
    draw_bound,
    draw_expected,
    draw_front,
    draw_marks,
    draw_pole,
    draw_test,
    draw_train,
    heights,
)
from netpact.reports.charts.shapes import Path, Point, Rect, Shape, Words
from netpact.reports.rows import Row, check_rows, find_best, pareto_front
from netpact.reports.text import shorten, size, text_width

_FONT = 12.0
_LANE = 17.0
_LEFT = 50.0
_RIGHT = 8.0
_STEP = 5.0
_LEAST = 360
_ERRORS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_LABELS = 14  # with more networks only those with a certificate, as far as there is room, and the originals are named
_NAMED = 8
_APART = 0.25  # points without a name stand where they belong, and still not upon each other


def draw_scatter(rows: Sequence[Row], *, width: int = 760) -> Figure:
    """Error (0 to 100 %) against size in bytes (logarithmic).

    Each compressed network is three marks on one vertical line: certified bound (filled diamond), test error (open
    circle), training error (tick). The original network stands apart on a dashed line. Labels hang above the plot in
    lanes that are chosen so that no two overlap; named points of nearly equal size are set a few pixels apart. A dashed
    line of steps is the Pareto front: the lowest bound that is proven up to each size. With many networks only those
    with the lowest bounds are named. An open diamond is a bound that is expected and not proven. A row of which no
    error is known is left out.
    """
    check_rows(rows)
    if width < _LEAST:
        raise PactError(f"the figure is at least {_LEAST} pixels wide, got {width}", where="width")
    rows = [row for row in rows if heights(row)]
    if not rows:
        raise PactError("no row has an error or a bound to draw", where="figure")
    best, front = find_best(rows), pareto_front(rows)
    named = _choose_named(rows)
    labels = [_label(row, best=row is best, room=min(width / 3.2, 190)) for row in named]
    widths = [
        text_width(label, font_size=_FONT) * (1.08 if row is best else 1)
        for row, label in zip(named, labels, strict=True)
    ]
    axis = span_axis([row.message_bytes for row in rows], least=10, room=1.5, left=_LEFT, right=width - _RIGHT)
    sizes = [row.message_bytes for row in named]
    axis, flags = hang_flags(axis, sizes, [room + _STEP for room in widths], edge=width)
    top = 22 + (max((flag.lane for flag in flags), default=0) + 1) * _LANE
    upward = Axis(0.0, 1.0, top + 280, top)
    band = upward.place(rows[0].guessing) - top
    parts: list[Shape] = [
        Rect(kind="band", x=axis.left, y=top, width=axis.right - axis.left, height=band),
        *draw_upward(upward, _ERRORS, title="error in %", left=axis.left, right=axis.right, say=_hundred),
        *draw_across(axis, axis.ticks(_size, least=1), title="size (logarithmic)", bottom=top + 280, say=_size),
    ]
    for row, label, flag in zip(named, labels, flags, strict=True):
        parts.extend(_draw_label(upward, row, flag, label=label, best=row is best))
    shown = set(map(id, named))
    others = [row for row in rows if id(row) not in shown]
    places = keep_apart([axis.place(row.message_bytes) for row in others], gap=_APART, left=axis.left, right=axis.right)
    poles = {id(row): place for row, place in zip(others, places, strict=True)}
    poles |= {id(row): flag.pole for row, flag in zip(named, flags, strict=True)}
    parts += _draw_front([(poles[id(row)], upward.place(row.proven or 0.0)) for row in front], axis.right)
    # Marks come last, so that no pole is drawn over them; those with names after the many.
    for row in sorted(rows, key=lambda row: id(row) in shown):
        parts.append(draw_marks(row, x=poles[id(row)], height_of=upward.place, title=_describe(row)))
    legend, height = draw_legend(_entries(rows), left=_LEFT, right=width - _RIGHT, top=top + 342)
    return Figure(
        name="error-against-size",
        title="Error against size of each network",
        description=" ".join(_describe(row) for row in rows),
        width=width,
        height=height,
        shapes=(*parts, *legend),
        numbers=tuple(_numbers(row) for row in rows),
    )


def _choose_named(rows: Sequence[Row]) -> list[Row]:
    if len(rows) <= _LABELS:
        return list(rows)
    bounds = sorted(row.proven for row in rows if row.proven is not None)[:_NAMED]
    return [row for row in rows if row.original or (row.proven is not None and row.proven in bounds)][: 2 * _NAMED]


def _numbers(row: Row) -> dict[str, object]:
    """Only a bound that stands is drawn, and so only that is told."""
    told = {"network": row.name, "bytes": row.message_bytes, "certified_bound": row.proven}
    told |= {} if row.expected_bound is None else {"expected_bound": row.expected_bound}
    return {**told, "train_error": row.train_error, "test_error": row.test_error, "parameters": row.parameters}


def _label(row: Row, *, best: bool, room: float) -> str:
    name = shorten(row.name, room=room, font_size=_FONT)
    return f"{name}: {percent_up(row.proven)}" if best and row.proven is not None else name


def _draw_front(places: Sequence[Point], right: float) -> list[Shape]:
    """Steps from the smallest file on: a larger file may do no better."""
    if not places:
        return []
    points = [places[0]]
    for x, y in places[1:]:
        points += [(x, points[-1][1]), (x, y)]
    return [Path(kind="front", points=(*points, (right, points[-1][1])))]


def _draw_label(upward: Axis, row: Row, flag: Flag, *, label: str, best: bool) -> list[Shape]:
    y = upward.right - 16 - flag.lane * _LANE
    pole = draw_pole(x=flag.pole, start=y - 9, end=upward.place(max(heights(row))), original=row.original)
    anchor, step = ("end", -_STEP) if flag.leftward else ("start", _STEP)
    return [pole, Words(text=label, kind="name best" if best else "name", x=flag.pole + step, y=y, anchor=anchor)]


def _entries(rows: Sequence[Row]) -> list[tuple[str, Mark]]:
    """Only what is drawn."""
    tested = {row.original for row in rows if row.test_error is not None}
    shown: list[tuple[bool, str, Mark]] = [
        (any(row.proven is not None for row in rows), "certified bound", draw_bound),
        (any(row.proven is not None for row in rows), "Pareto front", draw_front),
        (any(row.expected_bound is not None for row in rows), "expected, not proven", draw_expected),
        (False in tested, "test error", partial(draw_test, original=False)),
        (any(row.train_error is not None for row in rows), "train error", draw_train),
        (True in tested, "test error of the original", partial(draw_test, original=True)),
        (True, "no better than guessing", draw_band),
    ]
    return [(words, mark) for there, words, mark in shown if there]


def _size(number: float) -> str:
    return size(round(number))


def _hundred(share: float) -> str:
    return f"{share * 100:.0f}"


def _describe(row: Row) -> str:
    facts = [f"{row.message_bytes:,} bytes"]
    if row.train_error is not None:
        facts.append(f"train error {percent(row.train_error)}")
    if row.test_error is not None:
        facts.append(f"test error {percent(row.test_error)}")
    if row.proven is not None:
        facts.append(f"certified bound {percent_up(row.proven)}")
    if row.expected_bound is not None:
        facts.append(f"no certificate; {percent(row.expected_bound)} is to be expected")
    return f"{row.name}: {', '.join(facts)}."
