"""The record of a compressed network beside the lemmas: measured, bounded, estimated."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from netpact.bounds.estimate import Premise
from netpact.core.display import Displayed, Row
from netpact.core.json import finite
from netpact.deviations import DeviationBound
from netpact.measurements.quantity import Numbers


@dataclass(frozen=True, kw_only=True)
class LayerComparison:
    """One weight layer and what became of it.

    count             k: how many numbers encode it, where it was projected; None where it was not
    change            measured: |A^ - A|_F / |A|_F
    output_change     measured: the worst |x^i - x^^i| / |x^i| over the samples, all layers before it compressed too
    product_error     estimate: eps of Lemma 2 for this k, by the valid tail; infinite where that reaches no eps <= 1
    filter_error      estimate: eps of Lemma 13 for this k, for a convolution; its premise fails
    """

    name: str
    kind: str
    weights: int
    count: int | None
    change: float
    output_change: float
    product_error: float | None = None
    filter_error: float | None = None

    def to_json(self) -> dict[str, object]:
        estimates = {"lemma_2": self.product_error, "lemma_13": self.filter_error}
        return {
            "name": self.name,
            "kind": self.kind,
            "weights": self.weights,
            "count": self.count,
            "measured": {"change": finite(self.change), "output_change": finite(self.output_change)},
            "estimate": {key: None if value is None else finite(value) for key, value in estimates.items()},
        }


@dataclass(frozen=True, kw_only=True)
class LemmaEstimate:
    """What a lemma says about the outputs: |f - f^| <= eps |f| on every sample.

    eps          for the numbers that the layers have; infinite where a cushion is 0 or a layer has too few
    output_norm  max |f(x)| over the samples
    """

    name: str
    theorem: str
    eps: float
    output_norm: float
    premises: tuple[Premise, ...]
    ignored: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return "estimate"

    @property
    def failing(self) -> tuple[Premise, ...]:
        return tuple(premise for premise in self.premises if premise.holds is False)

    @property
    def output_error(self) -> float | None:
        """eps max|f|; None where a premise fails, because the lemma then says nothing."""
        return None if self.failing else self.eps * self.output_norm

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "kind": self.kind,
            "theorem": self.theorem,
            "eps": finite(self.eps),
            "output_error": self.output_error,
            "premises": [premise.to_json() for premise in self.premises],
            "ignored": list(self.ignored),
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LemmaReport(Displayed):
    """A network and its compressed form on given samples. Three kinds of numbers, each named in the table:

    measured  what was found on these samples
    promise   the deviation bound: proven for these samples, without probability
    estimate  what the lemmas say for these counts, up to delta, under premises that are listed
    """

    layers: tuple[LayerComparison, ...]
    promise: DeviationBound
    relative_error: float
    lemmas: tuple[LemmaEstimate, ...]
    network: str
    delta: float

    def display_facts(self) -> Row:
        return {
            "network": self.network,
            "measured": float(self.promise.measured.max()),
            "deviation_bound": self.promise.quantiles()["most"],
            **{f"estimate_{lemma.name}": lemma.output_error for lemma in self.lemmas},
            "data_name": self.promise.data_name,
            "samples": self.promise.samples,
        }

    def display_rows(self) -> list[Row]:
        """One row a layer."""
        return [asdict(layer) for layer in self.layers]

    def display_text(self) -> str:
        from netpact.papers.arora.lemmas.wording import describe

        return describe(self)

    def to_json(self) -> dict[str, object]:
        return {
            "network": self.network,
            "data": self.promise.data_name,
            "samples": self.promise.samples,
            "delta": self.delta,
            "layers": [layer.to_json() for layer in self.layers],
            "measured": {
                "median": upper_median(self.promise.measured),
                "most": float(self.promise.measured.max()),
                "relative": finite(self.relative_error),
            },
            "promise": self.promise.to_json(),
            "estimates": [lemma.to_json() for lemma in self.lemmas],
        }


def upper_median(numbers: Numbers) -> float:
    """Of an even number the upper one: what is proven for half of the samples must not be less."""
    return float(np.quantile(numbers, 0.5, method="higher"))
