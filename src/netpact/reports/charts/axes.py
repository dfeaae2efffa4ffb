"""Axes: numbers to pixels on a linear or logarithmic scale, round ticks whose labels stand apart, points kept apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from netpact.reports.charts.looks import FONT_SIZE
from netpact.reports.charts.shapes import Line, Shape, Words
from netpact.reports.text import text_width

_APART, _MOST_TICKS = 24.0, 10  # pixels between the labels of ticks, and how many there may be
_SHORT = 4.0  # up to this factor between its ends a logarithmic axis has ticks at equal steps


def plain(number: float) -> str:
    return f"{number:g}"


@dataclass(frozen=True)
class Axis:
    """Numbers from `low` to `high` on the pixels from `left` to `right`; of a vertical axis, from bottom to top."""

    low: float
    high: float
    left: float
    right: float
    logarithmic: bool = False

    def place(self, number: float) -> float:
        low, high = (math.log10(end) if self.logarithmic else end for end in (self.low, self.high))
        scaled = math.log10(number) if self.logarithmic else number
        return self.left + (scaled - low) / (high - low) * (self.right - self.left)

    def ticks(self, say: Callable[[float], str] = plain, *, least: float = 0.0, most: int = _MOST_TICKS) -> list[float]:
        """The densest round numbers whose labels stand well apart.

        least  the smallest step; on a logarithmic axis, the smallest number
        """
        for choice in self._round_numbers(least):
            seen = [number for number in choice if self.low <= number <= self.high]
            if 0 < len(seen) <= most and self._clear(seen, say):
                return seen
        return []

    def _clear(self, numbers: Sequence[float], say: Callable[[float], str]) -> bool:
        if self.right < self.left:  # vertical: labels stand above each other
            return all(self.place(one) - self.place(other) >= 2 * FONT_SIZE for one, other in pairwise(numbers))
        spans = [(self.place(number), text_width(say(number), font_size=FONT_SIZE) / 2) for number in numbers]
        return all(a + half_a + _APART <= b - half_b for (a, half_a), (b, half_b) in pairwise(spans))

    def _round_numbers(self, least: float) -> Iterator[list[float]]:
        """From dense to sparse: equal steps where the axis is linear or short, then 1-2-5, then powers of ten."""
        if not self.logarithmic or self.high < _SHORT * self.low:
            # The steps come from the length: a short axis may lie within one power of ten.
            power = math.floor(math.log10(self.high - self.low)) - 1
            for step in (float(f"{digit}e{power + more}") for more in range(3) for digit in (1, 2, 5)):
                if step >= least:
                    first = math.ceil(self.low / step)
                    yield [float(f"{number * step:.12g}") for number in range(first, math.floor(self.high / step) + 1)]
        if self.logarithmic:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            for digits in ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3)):
                numbers = [float(f"{digit}e{power}") for power in powers for digit in digits]
                yield [number for number in numbers if number >= least]
            for every in range(1, len(powers) + 1):
                yield [number for power in powers[::every] if (number := float(f"1e{power}")) >= least]


def draw_across(
    axis: Axis,
    ticks: Sequence[float],
    *,
    title: str = "",
    top: float | None = None,
    bottom: float,
    say: Callable[[float], str] = plain,
) -> list[Shape]:
    """A horizontal axis below a figure: ticks with their numbers, as lines up to `top` if given, and the title."""
    parts: list[Shape] = []
    below = 19 if top is None else 16
    for number in ticks:
        x = axis.place(number)
        ends = (bottom, bottom + 5) if top is None else (top, bottom)
        kind = "base" if top is None or number == axis.low else "grid"
        parts.append(Line(kind=kind, x1=x, y1=ends[0], x2=x, y2=ends[1]))
        parts.append(Words(text=say(number), kind="tick", x=x, y=bottom + below, anchor="middle"))
    middle = (axis.left + axis.right) / 2
    named = [Words(text=title, kind="axis", x=middle, y=bottom + below + 20, anchor="middle")] if title else []
    return [*parts, *named]


def draw_upward(
    axis: Axis,
    ticks: Sequence[float],
    *,
    title: str,
    left: float,
    right: float,
    say: Callable[[float], str] = plain,
) -> list[Shape]:
    """A vertical axis: a line across the figure for each tick, and the title, read from below."""
    parts: list[Shape] = []
    for number in ticks:
        y = axis.place(number)
        parts.append(Line(kind="base" if number == 0 == axis.low else "grid", x1=left, y1=y, x2=right, y2=y))
        parts.append(Words(text=say(number), kind="tick", x=left - 7, y=y + 4, anchor="end"))
    middle = (axis.left + axis.right) / 2
    return [*parts, Words(text=title, kind="axis", x=14, y=middle, anchor="middle", turned=True)]


def span_axis(numbers: Sequence[float], *, least: float, room: float, left: float, right: float) -> Axis:
    """A logarithmic axis with some room at both ends, over at least a factor of `least`."""
    low, high = (min(numbers), max(numbers)) if numbers else (1.0, 1.0)
    room = max(room, math.sqrt(least * low / high))
    return Axis(low / room, high * room, left, right, logarithmic=True)


def keep_apart(places: Sequence[float], *, gap: float, left: float, right: float) -> list[float]:
    """Move points as little as possible (least squares) so that neighbours are `gap` apart; order is kept.

    Substituting z_i = x_i - i*gap turns "gap apart" into "not falling": isotonic regression by pooling neighbours.
    """
    gap = min(gap, (right - left) / max(len(places), 1))
    order = sorted(range(len(places)), key=lambda index: (places[index], index))
    pools: list[tuple[float, int]] = []
    for rank, index in enumerate(order):
        mean, members = places[index] - rank * gap, 1
        while pools and pools[-1][0] > mean:
            other, others = pools.pop()
            mean = (mean * members + other * others) / (members + others)
            members += others
        pools.append((mean, members))
    flat = [mean for mean, members in pools for _ in range(members)]
    highest = right - (len(places) - 1) * gap
    moved = [0.0] * len(places)
    for rank, index in enumerate(order):
        moved[index] = min(max(flat[rank], left), highest) + rank * gap
    return moved
