"""A bound taken apart: the training error, what delta adds to it, what the bits of the message add to that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from netpact.certificates import risk_bound
from netpact.core.errors import PactError
from netpact.core.percent import percent, percent_up
from netpact.reports.charts.axes import Axis, draw_across
from netpact.reports.charts.figure import Figure
from netpact.reports.charts.legend import Mark, draw_legend
from netpact.reports.charts.looks import FONT_SIZE
from netpact.reports.charts.shapes import Group, Rect, Shape, Words
from netpact.reports.rows import Row
from netpact.reports.text import shorten

_LANE, _BAR, _TOP, _RIGHT = 26.0, 15.0, 8.0, 62.0
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_PARTS = (("part errors", "training error"), ("part delta", "what delta adds"), ("part bits", "what the bits add"))


@dataclass(frozen=True)
class BoundParts:
    """bound = train_error + delta + bits, all of them shares of 1; the bound is the stated one.

    delta  what is added because the samples are a draw: the bound of a network that needs no bits
    bits   what is added because the message was chosen by looking at them
    """

    name: str
    train_error: float
    delta: float
    bits: float
    bound: float


def take_apart(row: Row) -> BoundParts | None:
    """What the bound of a row is made of: B(errors, samples, 0 bits, delta) stands between its ends.

    None where the row has no bound that stands, or does not say what it was computed from.
    """
    errors = row.errors
    if row.proven is None or errors is None or row.samples is None or row.delta is None:
        return None
    without = min(risk_bound(errors=errors, samples=row.samples, code_bits=0, delta=row.delta), row.proven)
    share = min(errors / row.samples, without)
    return BoundParts(row.name, share, without - share, row.proven - without, row.proven)


def draw_parts(parts: Sequence[BoundParts], *, width: int = 760) -> Figure:
    """A bar for each network, in three pieces from left to right."""
    if not parts:
        raise PactError("no bound to take apart", where="figure")
    left, right = min(0.36 * width, 190.0), width - _RIGHT
    bottom = _TOP + _LANE * len(parts)
    axis = Axis(0.0, 1.0, left, right)
    shapes = draw_across(
        axis, _TICKS, title="error in %", top=_TOP, bottom=bottom, say=lambda share: f"{share:.0%}"[:-1]
    )
    for place, one in enumerate(parts):
        y = _TOP + place * _LANE
        name = shorten(one.name, room=left - 12, font_size=FONT_SIZE)
        shapes.append(Words(text=name, kind="name", x=left - 8, y=y + 17, anchor="end"))
        shapes.append(_bar(one, axis, y + 5))
        shapes.append(Words(text=percent_up(one.bound), kind="tick", x=axis.place(one.bound) + 6, y=y + 17))
    entries: list[tuple[str, Mark]] = [(words, partial(_key, kind)) for kind, words in _PARTS]
    legend, height = draw_legend(entries, left=min(left, 0.1 * width), right=right, top=bottom + 62)
    return Figure(
        name="bound-parts",
        title="What each bound is made of",
        description=" ".join(map(_describe, parts)),
        width=width,
        height=height,
        shapes=(*shapes, *legend),
        numbers=tuple(
            {
                "network": one.name,
                "train_error": one.train_error,
                "delta": one.delta,
                "bits": one.bits,
                "bound": one.bound,
            }
            for one in parts
        ),
    )


def _bar(one: BoundParts, axis: Axis, y: float) -> Group:
    pieces: list[Shape] = []
    start = 0.0
    for (kind, _), share in zip(_PARTS, (one.train_error, one.delta, one.bits), strict=True):
        x = axis.place(start)
        pieces.append(Rect(kind=kind, x=x, y=y, width=max(axis.place(start + share) - x, 0.0), height=_BAR))
        start += share
    return Group(kind="network", shapes=tuple(pieces), title=_describe(one))


def _describe(one: BoundParts) -> str:
    shares = f"training error {percent(one.train_error)}, delta adds {percent(one.delta)}, bits add {percent(one.bits)}"
    return f"{one.name}: {shares}; bound {percent_up(one.bound)}."


def _key(kind: str, x: float, y: float) -> Shape:
    return Rect(kind=kind, x=x - 7, y=y - 5, width=14, height=10)
