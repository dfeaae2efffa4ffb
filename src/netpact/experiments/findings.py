"""A finding of the paper, a rule that decides it, and what each seed says."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from netpact.core.errors import PactError
from netpact.experiments.records import Study, StudyLayer

REPRODUCED, NOT_REPRODUCED, MIXED, NOT_JUDGED = "reproduced", "not reproduced", "mixed", "not judged"
_FACTOR = 2.0  # "behave nicely": at most this much worse than random


@dataclass(frozen=True)
class Finding:
    """claim: what the paper says, and where; rule: what must hold in every seed; numbers: one for each seed.

    holds   one for each seed; empty where a network did not learn enough to say something
    """

    claim: str
    rule: str
    numbers: tuple[float | None, ...]
    holds: tuple[bool, ...]

    @property
    def verdict(self) -> str:
        if not self.holds:
            return NOT_JUDGED
        if all(self.holds):
            return REPRODUCED
        return MIXED if any(self.holds) else NOT_REPRODUCED

    def __bool__(self) -> bool:
        """Reproduced: in every seed, and in networks that have learned enough."""
        return self.verdict == REPRODUCED

    def to_json(self) -> dict[str, object]:
        return {
            "claim": self.claim,
            "rule": self.rule,
            "numbers": list(self.numbers),
            "holds": list(self.holds),
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Question:
    """How a finding is decided: a number for each seed's networks, and when it speaks for the paper."""

    claim: str
    rule: str
    number: Callable[[Mapping[str, Study]], float]
    holds: Callable[[float], bool]

    def judge(self, seeds: Sequence[Mapping[str, Study]]) -> Finding:
        if not seeds:
            raise PactError("no networks to judge by", where="finding")
        numbers = [self.number(one) for one in seeds]
        told = tuple(number if math.isfinite(number) else None for number in numbers)
        learned = all(study.fits for one in seeds for study in one.values())
        return Finding(self.claim, self.rule, told, tuple(self.holds(number) for number in numbers) if learned else ())


def above_one(number: float) -> bool:
    return number > 1


def below_one(number: float) -> bool:
    return number < 1


def not_much_less(number: float) -> bool:
    return number >= 1 / _FACTOR


def not_much_more(number: float) -> bool:
    return number <= _FACTOR


def ratio(first: Sequence[StudyLayer], second: Sequence[StudyLayer], quantity: str) -> float:
    """The geometric mean over layers of: median of the first network / median of the second."""
    logs = []
    for one, other in zip(first, second, strict=True):
        if quantity in one.sampled and quantity in other.sampled:
            above, below = one.sampled[quantity].median, other.sampled[quantity].median
            if above is None or below is None or above <= 0 or below <= 0:
                return math.nan
            logs.append(math.log(above / below))
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def later(layers: Sequence[StudyLayer]) -> Sequence[StudyLayer]:
    """The second half of the layers; the one in the middle is not among them."""
    return layers[-(len(layers) // 2) :]


def earlier(layers: Sequence[StudyLayer]) -> Sequence[StudyLayer]:
    return layers[: len(layers) // 2]


def share_where(
    first: Sequence[StudyLayer], second: Sequence[StudyLayer], quantity: str, *, larger: bool, skip: int = 0
) -> float:
    """The share of the layers in which the first network's median is larger than the second's, or smaller.

    skip  so many first layers are not counted
    """
    right = [
        _median(one, quantity) > _median(other, quantity)
        if larger
        else _median(one, quantity) < _median(other, quantity)
        for one, other in list(zip(first, second, strict=True))[skip:]
    ]
    return sum(right) / len(right)


def _median(layer: StudyLayer, quantity: str) -> float:
    """NaN, which is neither larger nor smaller, where there is none."""
    found = layer.sampled[quantity].median
    return math.nan if found is None else found
