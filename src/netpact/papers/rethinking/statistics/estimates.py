"""The record of an error bound of the paper: an estimate with all that it was computed from."""

from __future__ import annotations

from dataclasses import dataclass

from netpact.bounds import Premise
from netpact.core.display import Displayed
from netpact.core.json import finite
from netpact.papers.rethinking.statistics.complexity import ModelComplexity
from netpact.papers.rethinking.statistics.conditions import Conditions


@dataclass(frozen=True, kw_only=True, repr=False)
class ErrorEstimate(Displayed):
    """What a theorem says about the trained weights; no proof, and no certificate.

    weights      |W^ - W*|_F, part (a)
    empirical    root of the mean square of <Z_i, W^ - W*> on the training samples, part (b); None for classification
    prediction   the same on new samples: the prediction error, <= sqrt(kappa_U) |W^ - W*|_F
    test         root mean square error on new samples, noise included, part (c); None for classification
    probability  at least; None where a universal constant is not given. It may be negative: then it says nothing
    """

    theorem: str
    complexity: ModelComplexity
    conditions: Conditions
    samples: int
    weights: float
    empirical: float | None
    prediction: float
    test: float | None
    probability: float | None
    premises: tuple[Premise, ...]
    assumptions: tuple[str, ...]

    @property
    def kind(self) -> str:
        return "estimate"

    def display_facts(self) -> dict[str, object]:
        return {
            "prediction": self.prediction,
            "weights": self.weights,
            "test": self.test,
            "samples": self.samples,
            "complexity": self.complexity.complexity,
            "probability": self.probability,
            "theorem": self.theorem,
            "proven": "nothing",
        }

    def display_text(self) -> str:
        likely = "not stated, a universal constant is not given"
        if self.probability is not None:
            likely = f"at least {self.probability:.6g}" if self.probability > 0 else "none: too few samples"
        rows = {
            "|W^ - W*|_F": self.weights,
            "on the training samples": self.empirical,
            "prediction error": self.prediction,
            "test error, noise included": self.test,
        }
        lines = [
            f"estimate by {self.theorem}: n = {self.samples:,}, {self.complexity}",
            *(f"  {name:<28} <= {value:.4g}" for name, value in rows.items() if value is not None),
            f"  probability                  {likely}",
            f"  {self.conditions.isometry}; {self.conditions.inputs}",
            *(f"  premise  {premise}" for premise in self.premises),
            *(f"  assumes  {text}" for text in self.assumptions),
        ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "theorem": self.theorem,
            "samples": self.samples,
            "weights": finite(self.weights),
            "empirical": None if self.empirical is None else finite(self.empirical),
            "prediction": finite(self.prediction),
            "test": None if self.test is None else finite(self.test),
            "probability": self.probability,
            "complexity": self.complexity.to_json(),
            "conditions": self.conditions.to_json(),
            "premises": [premise.to_json() for premise in self.premises],
            "assumptions": list(self.assumptions),
        }
