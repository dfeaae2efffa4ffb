"""Labels above the plot that cannot overlap: each hangs from its point's pole like a flag, in lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from netpact.core.errors import PactError
from netpact.reports.charts.axes import Axis, keep_apart

_CLEARANCE = 7.0
_GAP = 10.0


@dataclass(frozen=True)
class Flag:
    """A label: its pole's place, the stretch its text covers to one side of it, and the lane, 0 next to the plot."""

    pole: float
    start: float
    end: float
    lane: int = 0

    @property
    def leftward(self) -> bool:
        return self.start < self.pole


def hang_flags(axis: Axis, sizes: Sequence[int], widths: Sequence[float], *, edge: float) -> tuple[Axis, list[Flag]]:
    """The flags, and the axis, shortened if labels would otherwise end beyond `edge`.

    Flags hang to the right; as many of the rightmost as it takes hang to the left. Among the ways that work the one
    with the fewest lanes is taken. If none works, the axis is shortened until all fit on the right.
    """
    poles = _poles(axis, sizes)
    order = sorted(range(len(poles)), key=lambda index: (poles[index], index), reverse=True)
    found: list[list[Flag]] = []
    for turned in range(len(poles) + 1):
        flags = _unfurl(poles, widths, leftward=set(order[:turned]))
        if all(flag.start >= 0 and flag.end <= edge for flag in flags):
            placed = choose_lanes(flags)
            found += [placed] if placed is not None else []
    if found:
        return axis, min(found, key=lambda flags: max(flag.lane for flag in flags))
    short = _shorten(axis, sizes, widths, edge=edge)
    onesided = choose_lanes(_unfurl(_poles(short, sizes), widths, leftward=set()))
    if onesided is None:
        raise PactError("the labels cannot be placed", where="figure", hint="this is a defect of netpact, report it")
    return short, onesided


def choose_lanes(flags: Sequence[Flag]) -> list[Flag] | None:
    """Give each flag the lowest lane in which nothing touches; None if two flags cover each other's poles.

    A flag stands above every flag whose pole comes up within its text. So no pole crosses a text. Flags that all hang
    to one side always have a solution: of two of them, only one can cover the other's pole.
    """
    under = [{j for j, other in enumerate(flags) if flag.start < other.pole < flag.end} for flag in flags]
    lanes: dict[int, int] = {}
    while len(lanes) < len(flags):
        ready = [i for i in range(len(flags)) if i not in lanes and under[i] <= lanes.keys()]
        if not ready:
            return None
        index = max(ready, key=lambda i: (flags[i].pole, i))
        lane = max((lanes[j] + 1 for j in under[index]), default=0)
        while any(taken == lane and _touch(flags[index], flags[j]) for j, taken in lanes.items()):
            lane += 1
        lanes[index] = lane
    return [replace(flag, lane=lanes[i]) for i, flag in enumerate(flags)]


def _touch(one: Flag, other: Flag) -> bool:
    return one.start < other.end and other.start < one.end


def _poles(axis: Axis, sizes: Sequence[int]) -> list[float]:
    return keep_apart([axis.place(number) for number in sizes], gap=_GAP, left=axis.left + 6, right=axis.right - 6)


def _unfurl(poles: Sequence[float], widths: Sequence[float], *, leftward: set[int]) -> list[Flag]:
    flags = []
    for index, (pole, width) in enumerate(zip(poles, widths, strict=True)):
        room = width + _CLEARANCE
        span = (pole - room, pole) if index in leftward else (pole, pole + room)
        flags.append(Flag(pole=pole, start=span[0], end=span[1]))
    return flags


def _shorten(axis: Axis, sizes: Sequence[int], widths: Sequence[float], *, edge: float) -> Axis:
    """Take off the right end what the label that sticks out furthest needs, until all fit or a third is left."""
    least = axis.left + (axis.right - axis.left) / 3
    while axis.right > least:
        over = max(flag.end for flag in _unfurl(_poles(axis, sizes), widths, leftward=set())) - edge
        if over <= 0:
            break
        # One pixel more than it sticks out: the point itself moves less than the end of the axis does.
        axis = replace(axis, right=max(axis.right - over - 1, least))
    return axis
