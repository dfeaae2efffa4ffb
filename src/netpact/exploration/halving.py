"""Successive halving: many starts get a little work each, and the better half of them goes on.

Jamieson and Talwalkar 2016. What a start leads to is seen after a fraction of the work, and starts differ by more than
further work on one of them gains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def halve(
    starts: Sequence[T], work: Callable[[T, int], T | None], *, score: Callable[[T], float], most: int | None = None
) -> tuple[T, int]:
    """The one that is left, and how many rungs it took: one for one or two starts, one more for twice as many.

    work   what becomes of a start on the given rung; None where there is no time for it, and then it stays as it is
    score  lower is better; a start that work made worse stays what it was
    most   rungs; after these the best of all that are left
    """
    alive = sorted(starts, key=score)
    rung = 0
    while most is None or rung < most:
        done = [(one, work(one, rung)) for one in alive]
        if all(worked is None for _, worked in done):
            return alive[0], rung
        best = [one if worked is None or score(one) <= score(worked) else worked for one, worked in done]
        alive = sorted(best, key=score)[: max(1, len(best) // 2)]
        rung += 1
        if len(alive) == 1:
            break
    return alive[0], rung
