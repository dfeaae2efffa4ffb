"""The figure: error against size, with the certified bound above the measured errors of each network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netpact.errors import PactError
from netpact.reports.labels import Flag, hang_flags
from netpact.reports.layout import LogAxis, span_axis
from netpact.reports.legend import draw_legend
from netpact.reports.marks import draw_marks, draw_pole
from netpact.reports.rows import Row, check_rows, find_best
from netpact.reports.svg import draw_line, draw_rect, draw_words, frame_svg
from netpact.reports.text import percent, percent_up, shorten, size, text_width

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


def scatter_svg(rows: Sequence[Row], *, width: int = 760) -> str:
    """An SVG of error (0 to 100 %) against size in bytes (logarithmic).

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
    parts = [_draw_grid(frame, rows[0].guessing), _draw_axis(frame)]
    for row, label, flag in zip(rows, labels, flags, strict=True):
        parts.append(_draw_label(frame, row, flag, label=label, best=row is best))
    # Marks come last, so that no pole is drawn over them.
    for row, flag in zip(rows, flags, strict=True):
        parts.append(draw_marks(row, x=flag.pole, height_of=frame.height_of))
    legend, height = draw_legend(rows, left=_LEFT, right=width - _RIGHT, top=frame.bottom + 62, font_size=_FONT)
    # The id carries the width because a page shows the figure in two widths.
    return frame_svg(
        [*parts, legend],
        id_=str(width),
        title="Error against size of each network",
        description=" ".join(_describe(row) for row in rows),
        width=width,
        height=height,
    )


def _label(row: Row, *, best: bool, room: float) -> str:
    name = shorten(row.name, room=room, font_size=_FONT)
    return f"{name}: {percent_up(row.proven)}" if best and row.proven is not None else name


def _draw_label(frame: _Frame, row: Row, flag: Flag, *, label: str, best: bool) -> str:
    y = frame.top - 16 - flag.lane * _LANE
    marks = [share for share in (row.train_error, row.test_error, row.proven) if share is not None]
    pole = draw_pole(x=flag.pole, start=y - 9, end=frame.height_of(max(marks)), original=row.original)
    anchor, step = ("end", -_STEP) if flag.leftward else ("start", _STEP)
    return pole + draw_words(label, "name best" if best else "name", x=flag.pole + step, y=y, anchor=anchor)


def _draw_grid(frame: _Frame, guessing: float) -> str:
    left, right = frame.axis.left, frame.axis.right
    band = frame.height_of(guessing) - frame.top
    parts = [draw_rect("band", x=left, y=frame.top, width=right - left, height=band)]
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        y = frame.height_of(share)
        parts.append(draw_line("base" if share == 0 else "grid", x1=left, y1=y, x2=right, y2=y))
        parts.append(draw_words(f"{share * 100:.0f}", "tick", x=left - 7, y=y + 4, anchor="end"))
    middle = (frame.top + frame.bottom) / 2
    parts.append(draw_words("error in %", "axis", x=14, y=middle, anchor="middle", turned=True))
    return "\n".join(parts)


def _draw_axis(frame: _Frame) -> str:
    parts = []
    for number in frame.axis.ticks(font_size=_FONT):
        x = frame.axis.place(number)
        parts.append(draw_line("base", x1=x, y1=frame.bottom, x2=x, y2=frame.bottom + 5))
        parts.append(draw_words(size(number), "tick", x=x, y=frame.bottom + 19, anchor="middle"))
    middle = (frame.axis.left + frame.axis.right) / 2
    parts.append(draw_words("size (logarithmic)", "axis", x=middle, y=frame.bottom + 39, anchor="middle"))
    return "\n".join(parts)


def _describe(row: Row) -> str:
    facts = [f"{row.message_bytes:,} bytes", f"train error {percent(row.train_error)}"]
    if row.test_error is not None:
        facts.append(f"test error {percent(row.test_error)}")
    if row.proven is not None:
        facts.append(f"certified bound {percent_up(row.proven)}")
    return f"{row.name}: {', '.join(facts)}."
