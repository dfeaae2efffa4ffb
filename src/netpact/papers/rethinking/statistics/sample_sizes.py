"""sample_size: how many samples a network needs for a prediction error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from netpact.core.checks import check_instance, check_number
from netpact.core.display import Displayed
from netpact.core.errors import PactError
from netpact.papers.rethinking.statistics.complexity import ModelComplexity
from netpact.papers.rethinking.statistics.conditions import Conditions
from netpact.papers.rethinking.statistics.estimates import ErrorEstimate
from netpact.papers.rethinking.statistics.theorems import estimation_error, probability, scale

_MOST = 10**300  # samples; beyond, floats end


@dataclass(frozen=True, kw_only=True, repr=False)
class SampleSize(Displayed):
    """The least number of samples for which the bound on the prediction error is at most `error`.

    delta     failure probability that was asked for; None: the bound alone
    estimate  the bound at that many samples, with its probability and premises
    """

    samples: int
    error: float
    delta: float | None
    estimate: ErrorEstimate

    @property
    def kind(self) -> str:
        return "estimate"

    def __int__(self) -> int:
        return self.samples

    def display_facts(self) -> dict[str, object]:
        return {
            "samples": self.samples,
            "error": self.error,
            "delta": self.delta,
            "complexity": self.estimate.complexity.complexity,
            "theorem": self.estimate.theorem,
            "proven": "nothing",
        }

    def display_text(self) -> str:
        sure = "" if self.delta is None else f" with probability {1 - self.delta:g}"
        return f"{self.samples:,} samples for a prediction error of {self.error:g}{sure}\n{self.estimate}"

    def to_json(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "samples": self.samples,
            "error": self.error,
            "delta": self.delta,
            "estimate": self.estimate.to_json(),
        }


def sample_size(
    complexity: ModelComplexity, conditions: Conditions, *, error: float, delta: float | None = None
) -> SampleSize:
    """The samples that the theorem asks for: of the order of d_M / error^2.

    error  prediction error, the root of E (<X, W^_X> - <X, W*_X>)^2, that is to be reached
    delta  failure probability that the theorem's own probability must stay below, too; it needs the universal
           constants in `conditions`
    """
    check_instance(complexity, ModelComplexity, where="complexity")
    check_instance(conditions, Conditions, where="conditions")
    check_number(error, where="error", above=0)
    wanted = (math.sqrt(conditions.upper) * scale(complexity, conditions) / error) ** 2
    if not wanted < _MOST:
        raise PactError(f"the number of samples for an error of {error:g} is beyond {_MOST:.0e}", where="error")
    # Twice as many are enough whatever rounding does; the bound itself decides which is the least.
    samples = _least(0, 2 * math.ceil(wanted), lambda n: _prediction(complexity, conditions, n) <= error)
    if delta is not None:
        check_number(delta, where="delta", above=0, below=1)
        samples = max(samples, _for_probability(complexity, conditions, 1 - delta))
    estimate = estimation_error(complexity, conditions, samples=samples)
    return SampleSize(samples=samples, error=error, delta=delta, estimate=estimate)


def _prediction(complexity: ModelComplexity, conditions: Conditions, samples: int) -> float:
    return math.sqrt(conditions.upper) * (scale(complexity, conditions) / math.sqrt(samples))


def _for_probability(complexity: ModelComplexity, conditions: Conditions, needed: float) -> int:
    """By doubling, then bisection; the probability grows with n."""

    def enough(samples: int) -> bool:
        found = probability(complexity, conditions, samples)
        if found is None:
            names = "c_h" if complexity.task == "regression" else "c and c_gamma"
            raise PactError(f"a probability needs the universal constants: {names}", where="conditions")
        return found >= needed

    most = 1
    while not enough(most):
        most *= 2
        if most > _MOST:
            raise PactError(
                "no number of samples gives this probability: exp(-d - 8 slack) does not depend on n",
                where="delta",
                hint="a larger slack",
            )
    return _least(0, most, enough)


def _least(low: int, most: int, enough: Callable[[int], bool]) -> int:
    """The least integer above `low` that is enough, by bisection; `most` is enough."""
    while most - low > 1:
        middle = (low + most) // 2
        low, most = (low, middle) if enough(middle) else (middle, most)
    return most
