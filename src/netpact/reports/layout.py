"""The figure's horizontal axis: sizes on a logarithmic scale, and points kept apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from netpact.reports.text import size, text_width


@dataclass(frozen=True)
class LogAxis:
    """Sizes in bytes from `low` to `high` on the pixels from `left` to `right`, logarithmically."""

    low: float
    high: float
    left: float
    right: float

    def share(self, number: float) -> float:
        return (math.log10(number) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))

    def place(self, number: float) -> float:
        return self.left + self.share(number) * (self.right - self.left)

    def ticks(self, *, font_size: float) -> list[int]:
        """The densest of 1-2-5, decades, every 2nd, 3rd, ... decade whose labels stand clear of each other."""
        lowest, highest = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        powers = [10**power for power in range(max(lowest, 0), highest + 1)]
        choices = [[step * power for power in powers for step in (1, 2, 5)]]
        choices += [powers[::every] for every in range(1, len(powers) + 1)]
        for choice in choices:
            seen = [number for number in choice if self.low <= number <= self.high]
            if self._clear(seen, font_size=font_size):
                return seen
        return []

    def _clear(self, numbers: Sequence[int], *, font_size: float) -> bool:
        spans = [(self.place(number), text_width(size(number), font_size=font_size) / 2) for number in numbers]
        return all(a + half_a + font_size <= b - half_b for (a, half_a), (b, half_b) in pairwise(spans))


def span_axis(sizes: Sequence[int], *, left: float, right: float) -> LogAxis:
    """An axis with some room at both ends, and over at least a factor of ten so that one point can be read too."""
    spread = max(1.5, math.sqrt(10 * min(sizes) / max(sizes)))
    return LogAxis(low=min(sizes) / spread, high=max(sizes) * spread, left=left, right=right)


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
