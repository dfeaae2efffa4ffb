"""A finding of a paper, a rule that decides it, and what each seed says."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from netpact.core.errors import PactError

REPRODUCED, NOT_REPRODUCED, MIXED, NOT_JUDGED = "reproduced", "not reproduced", "mixed", "not judged"
_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_RULE = re.compile(r".+: (>=?|<=?) (-?[0-9.]+)")


@dataclass(frozen=True)
class Finding:
    """claim: what the paper says, and where; rule: what must hold in every seed; numbers: one for each seed.

    Of a JointQuestion, rule, numbers and holds are one of all seeds together.

    holds       one for each seed; empty where a network did not learn enough to say something
    accuracies  one for each seed: the training accuracy of the network that learned least; none of simulations
    published   the paper's own number, None where it prints none
    """

    claim: str
    rule: str
    numbers: tuple[float | None, ...]
    holds: tuple[bool, ...]
    accuracies: tuple[float, ...] = ()
    published: float | None = None

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
        return {**asdict(self), "verdict": self.verdict}

    def cells(self) -> tuple[str, str, str, str]:
        """The paper's number, ours, the accuracies and the verdict, as tables print them."""
        paper = "–" if self.published is None else f"{self.published:.3g}"
        ours = ", ".join("not finite" if number is None else f"{number:.3g}" for number in self.numbers)
        return paper, ours, ", ".join(f"{reached:.1%}" for reached in self.accuracies) or "–", self.verdict


@dataclass(frozen=True)
class Question:
    """How a finding is decided: by a number of the networks of one seed, which come by name.

    rule       what the number is, and the side of a limit on which it must be: "largest norm: < 10"
    published  the same number as the paper prints it, if it does
    """

    claim: str
    rule: str
    number: Callable[[Mapping[str, Any]], float]
    published: float | None = None

    def __post_init__(self) -> None:
        self.holds(0.0)

    def holds(self, number: float) -> bool:
        return _holds(self.rule, number)

    def judge(self, seeds: Sequence[Mapping[str, Any]]) -> Finding:
        numbers = [self.number(one) for one in _some(seeds)]
        holds = tuple(map(self.holds, numbers))
        return Finding(
            self.claim,
            self.rule,
            numbers=tuple(number if math.isfinite(number) else None for number in numbers),
            holds=holds if _learned(seeds) else (),
            accuracies=_accuracies(seeds),
            published=self.published,
        )


@dataclass(frozen=True)
class JointQuestion:
    """How a finding about means or worst cases is decided: by one number of the networks of all seeds.

    number           of a list, one entry for each seed as a Question takes it
    rule, published  as of a Question; a number that is not finite, as the deviation of one seed, is not judged
    """

    claim: str
    rule: str
    number: Callable[[Any], float]
    published: float | None = None

    def __post_init__(self) -> None:
        self.holds(0.0)

    def holds(self, number: float) -> bool:
        return _holds(self.rule, number)

    def judge(self, seeds: Sequence[Mapping[str, Any]]) -> Finding:
        number = self.number(_some(seeds))
        known = math.isfinite(number)
        return Finding(
            self.claim,
            self.rule,
            numbers=(number if known else None,),
            holds=(self.holds(number),) if known and _learned(seeds) else (),
            accuracies=_accuracies(seeds),
            published=self.published,
        )


def _holds(rule: str, number: float) -> bool:
    """Whether a number is on the side of the limit that its rule ends in."""
    words = _RULE.fullmatch(rule)
    if words is None:
        raise PactError(f"must end in a limit, as in 'largest norm: < 10', got {rule!r}", where="rule")
    return _SIGNS[words[1]](number, float(words[2]))


def _some(seeds: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    if not seeds:
        raise PactError("no networks to judge by", where="finding")
    return seeds


def _learned(seeds: Sequence[Mapping[str, Any]]) -> bool:
    return all(study.fits for one in seeds for study in one.values())


def _accuracies(seeds: Sequence[Mapping[str, Any]]) -> tuple[float, ...]:
    """Of each seed that of the network that learned least."""
    found = [[study.accuracy for study in one.values() if study.accuracy is not None] for one in seeds]
    return tuple(min(one) for one in found if one)
