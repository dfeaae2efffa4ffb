"""Successive halving with a trainer of which all is known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from netpact.exploration.halving import halve


@dataclass(frozen=True)
class Fake:
    """Its score falls with every rung by what it gains there."""

    name: str
    score: float
    gains: tuple[float, ...] = (0.0,) * 9


class Trainer:
    def __init__(self, rungs_in_time: int = 99) -> None:
        self.worked: list[tuple[int, str]] = []
        self._rungs = rungs_in_time

    def __call__(self, one: Fake, rung: int) -> Fake | None:
        if rung >= self._rungs:
            return None
        self.worked.append((rung, one.name))
        return replace(one, score=one.score - one.gains[rung])


def score(one: Fake) -> float:
    return one.score


def test_the_better_half_goes_on_until_one_is_left() -> None:
    trainer = Trainer()
    starts = [Fake(name, 10.0 + place) for place, name in enumerate("abcdefgh")]
    winner, rungs = halve(starts, trainer, score=score)
    assert (winner.name, rungs) == ("a", 3)
    assert [name for rung, name in trainer.worked if rung == 0] == list("abcdefgh")
    assert [name for rung, name in trainer.worked if rung == 1] == list("abcd")
    assert [name for rung, name in trainer.worked if rung == 2] == list("ab")


def test_what_work_shows_decides_not_how_a_start_looked() -> None:
    late = Fake("late", 13.0, (2.5, 5.0))
    winner, _ = halve([Fake("a", 10.0), Fake("b", 11.0), Fake("c", 12.0), late], Trainer(), score=score)
    assert winner == replace(late, score=5.5)


def test_one_that_work_makes_worse_stays_what_it_was() -> None:
    winner, rungs = halve([Fake("a", 3.0, (-4.0,)), Fake("b", 5.0)], Trainer(), score=score)
    assert winner == Fake("a", 3.0, (-4.0,))
    assert rungs == 1


@pytest.mark.parametrize(("count", "expected"), [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (6, 2), (8, 3)])
def test_rungs(count: int, expected: int) -> None:
    """Three become one at once: half of them, rounded down."""
    assert halve([Fake(str(n), n) for n in range(count)], Trainer(), score=score)[1] == expected


def test_the_end_of_time_and_the_most_rungs_leave_the_best_so_far() -> None:
    starts = [Fake("a", 4.0), Fake("b", 3.0), Fake("c", 5.0), Fake("d", 6.0, (5.0, 0.0))]
    assert halve(starts, Trainer(0), score=score) == (starts[1], 0)
    assert halve(starts, Trainer(1), score=score) == (replace(starts[3], score=1.0), 1)
    assert halve(starts, Trainer(), score=score, most=1) == (replace(starts[3], score=1.0), 1)
