"""The figure: error against size, with the certified bound above the measured errors of each network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netpact.core.errors import PactError
from netpact.core.percent import percent, percent_up
from netpact.reports.figure import Figure
from netpact.reports.labels import Flag, hang_flags
from netpact.reports.layout import LogAxis, span_axis
from netpact.reports.legend import draw_legend
from netpact.reports.marks import draw_marks, draw_pole
from netpact.reports.rows import Row, check_rows, find_best
from netpact.reports.shapes import Line, Rect, Shape, Words
from netpact.reports.text import shorten, size, text_width

_FONT = 12.0
_LANE = 17.0
_LEFT = 50.0
_RIGHT = 8.0
_STEP = 5.0
_LEAST = 360


@dataclass(frozen=True)
class _Frame:
    """The drawing's geometry in pixels; y runs downwards."""

    axis: LogAxis
    top: float
    bottom: float

    def height_of(self, share: float) -> float:
        return self.bottom - share * (self.bottom - self.top)


def draw_scatter(rows: Sequence[Row], *, width: int = 760) -> Figure:
    """Error (0 to 100 %) against size in bytes (logarithmic).

    Each compressed network is three marks on one vertical line: certified bound (filled diamond), test error (open
    circle), training error (tick). The original network stands apart on a dashed line. Labels hang above the plot in
    lanes that are chosen so that no two overlap; points of nearly equal size are set a few pixels apart.
    """
    check_rows(rows)
    if width < _LEAST:
        raise PactError(f"the figure is at least {_LEAST} pixels wide, got {width}", where="width")
    best = find_best(rows)
    labels = [_label(row, best=row is best, room=min(width / 3.2, 190)) for row in rows]
    widths = [
        text_width(label, font_size=_FONT) * (1.08 if row is best else 1)
        for row, label in zip(rows, labels, strict=True)
    ]
    sizes = [row.message_bytes for row in rows]
    axis = span_axis(sizes, left=_LEFT, right=width - _RIGHT)
    axis, flags = hang_flags(axis, sizes, [room + _STEP for room in widths], edge=width)
    top = 22 + (max(flag.lane for flag in flags) + 1) * _LANE
    frame = _Frame(axis=axis, top=top, bottom=top + 280)
    parts = [*_draw_grid(frame, rows[0].guessing), *_draw_axis(frame)]
    for row, label, flag in zip(rows, labels, flags, strict=True):
        parts.extend(_draw_label(frame, row, flag, label=label, best=row is best))
    # Marks come last, so that no pole is drawn over them.
    for row, flag in zip(rows, flags, strict=True):
        parts.append(draw_marks(row, x=flag.pole, height_of=frame.height_of))
    legend, height = draw_legend(rows, left=_LEFT, right=width - _RIGHT, top=frame.bottom + 62, font_size=_FONT)
    return Figure(
        name="error-against-size",
        title="Error against size of each network",
        description=" ".join(_describe(row) for row in rows),
        width=width,
        height=height,
        shapes=(*parts, *legend),
        numbers=tuple(_numbers(row) for row in rows),
    )


def _numbers(row: Row) -> dict[str, object]:
    """Only a bound that stands is drawn, and so only that is told."""
    told = {"network": row.name, "bytes": row.message_bytes, "certified_bound": row.proven}
    return {**told, "train_error": row.train_error, "test_error": row.test_error, "parameters": row.parameters}


def _label(row: Row, *, best: bool, room: float) -> str:
    name = shorten(row.name, room=room, font_size=_FONT)
    return f"{name}: {percent_up(row.proven)}" if best and row.proven is not None else name


def _draw_label(frame: _Frame, row: Row, flag: Flag, *, label: str, best: bool) -> list[Shape]:
    y = frame.top - 16 - flag.lane * _LANE
    marks = [share for share in (row.train_error, row.test_error, row.proven) if share is not None]
    pole = draw_pole(x=flag.pole, start=y - 9, end=frame.height_of(max(marks)), original=row.original)
    anchor, step = ("end", -_STEP) if flag.leftward else ("start", _STEP)
    return [pole, Words(text=label, kind="name best" if best else "name", x=flag.pole + step, y=y, anchor=anchor)]


def _draw_grid(frame: _Frame, guessing: float) -> list[Shape]:
    left, right = frame.axis.left, frame.axis.right
    band = frame.height_of(guessing) - frame.top
    parts: list[Shape] = [Rect(kind="band", x=left, y=frame.top, width=right - left, height=band)]
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        y = frame.height_of(share)
        parts.append(Line(kind="base" if share == 0 else "grid", x1=left, y1=y, x2=right, y2=y))
        parts.append(Words(text=f"{share * 100:.0f}", kind="tick", x=left - 7, y=y + 4, anchor="end"))
    middle = (frame.top + frame.bottom) / 2
    parts.append(Words(text="error in %", kind="axis", x=14, y=middle, anchor="middle", turned=True))
    return parts


def _draw_axis(frame: _Frame) -> list[Shape]:
    parts: list[Shape] = []
    for number in frame.axis.ticks(font_size=_FONT):
        x = frame.axis.place(number)
        parts.append(Line(kind="base", x1=x, y1=frame.bottom, x2=x, y2=frame.bottom + 5))
        parts.append(Words(text=size(number), kind="tick", x=x, y=frame.bottom + 19, anchor="middle"))
    middle = (frame.axis.left + frame.axis.right) / 2
    parts.append(Words(text="size (logarithmic)", kind="axis", x=middle, y=frame.bottom + 39, anchor="middle"))
    return parts


def _describe(row: Row) -> str:
    facts = [f"{row.message_bytes:,} bytes", f"train error {percent(row.train_error)}"]
    if row.test_error is not None:
        facts.append(f"test error {percent(row.test_error)}")
    if row.proven is not None:
        facts.append(f"certified bound {percent_up(row.proven)}")
    return f"{row.name}: {', '.join(facts)}."
