"""One point of every layer's curve, so that bytes are saved where they change the network least.

Changes of logits in different layers hardly depend on each other, so their squares nearly add up. For a price p of
change the best joint choice minimises bytes + p * (sum of squared changes), layer by layer: as p rises it moves along
the lower convex hulls of the layers' curves, from the fewest bytes to the least change. On that way the first choice
that keeps the tolerance is looked for by running the network with all layers replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from netpact.methods.rank_advice.records import Change, RankPoint

Choice = dict[str, RankPoint]
Run = Callable[[Choice], Change]


def convex_hull(points: Sequence[RankPoint]) -> list[RankPoint]:
    """Points by rising bytes that some price makes the best ones; each has a smaller change than the one before."""
    hull: list[RankPoint] = []
    for point in sorted(points, key=lambda one: (one.bytes, _damage(one))):
        if hull and _damage(point) >= _damage(hull[-1]):
            continue
        while len(hull) > 1 and _worth(hull[-2], hull[-1]) <= _worth(hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def price_path(curves: Mapping[str, Sequence[RankPoint]]) -> list[Choice]:
    """All joint choices that some price makes the best ones, from the fewest bytes to the least change."""
    hulls = {name: convex_hull(points) for name, points in curves.items()}
    steps = [(_worth(before, after), name, after) for name, hull in hulls.items() for before, after in pairwise(hull)]
    path = [{name: hull[0] for name, hull in hulls.items()}]
    for _, name, after in sorted(steps, key=lambda step: -step[0]):
        path.append({**path[-1], name: after})
    return path


def choose(
    curves: Mapping[str, Sequence[RankPoint]], run: Run, *, tolerance: float
) -> tuple[Choice | None, list[Change]]:
    """The choice, or None where no choice keeps the tolerance; and what every joint run has shown."""
    path, seen = price_path(curves), list[Change]()

    def keeps(choice: Choice) -> bool:
        seen.append(run(choice))
        return seen[-1].decisions <= tolerance

    low, high = 0, len(path) - 1
    if not keeps(path[high]):
        return None, seen
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(path[middle]) else (middle + 1, high)
    return _descend(path[high], curves, keeps), seen


def _descend(choice: Choice, curves: Mapping[str, Sequence[RankPoint]], keeps: Callable[[Choice], bool]) -> Choice:
    """Layer by layer, from the largest: the next point of fewer bytes, as long as the tolerance is kept."""
    for name in sorted(choice, key=lambda name: -choice[name].bytes):
        cheaper = sorted((point for point in curves[name] if point.bytes < choice[name].bytes), key=lambda p: -p.bytes)
        for point in cheaper:
            if not keeps({**choice, name: point}):
                break
            choice = {**choice, name: point}
    return choice


def _damage(point: RankPoint) -> float:
    return point.change.logits**2


def _worth(before: RankPoint, after: RankPoint) -> float:
    """Squared change that a byte more takes away."""
    return (_damage(before) - _damage(after)) / max(after.bytes - before.bytes, 1e-9)
