"""The record of a pruned network beside the lemmas: measured, bounded, and as printed."""

from __future__ import annotations

from dataclasses import dataclass

from netpact.bounds.estimate import Premise
from netpact.core.display import Displayed, Row
from netpact.core.errors import one_of
from netpact.core.json import finite
from netpact.deviations import DeviationBound
from netpact.papers.guha.lemmas.stating import LemmaLayer


@dataclass(frozen=True, kw_only=True)
class PrintedLemma:
    """What a lemma says as it is printed: an estimate, whether or not this network keeps to it.

    bound     on |x^L - x^^L| of every sample
    measured  the largest of them
    failure   the probability that the lemma leaves for being wrong; 1 or more where it says nothing
    """

    name: str
    bound: float
    measured: float
    failure: float

    @property
    def violated(self) -> bool:
        return self.measured > self.bound

    def to_json(self) -> dict[str, object]:
        return {
            "lemma": self.name,
            "kind": "estimate",
            "bound": finite(self.bound),
            "measured": self.measured,
            "failure": self.failure,
            "violated": self.violated,
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PruningLemmaReport(Displayed):
    """A network f and its pruned form f^ on given samples; errors are |f(x) - f^(x)|_2, the worst over the samples.

    scale      the d of Algorithm 1; None for a file, or another network
    constant   the C of Lemma 4.2
    expected   eps Gamma of Lemma 4.2 for each layer; empty where there is no scale
    printed    the lemmas as printed
    valid      the perturbation bound in the form that holds, from the norms of the layers and each sample's activations
    deviation  netpact's deviation bound, which is proven
    premises   what the printed lemmas ask for
    """

    network: str
    scale: float | None
    constant: float
    layers: tuple[LemmaLayer, ...]
    expected: tuple[float, ...]
    printed: tuple[PrintedLemma, ...]
    valid: float
    deviation: DeviationBound
    premises: tuple[Premise, ...]

    @property
    def error(self) -> float:
        """The worst measured |f - f^|."""
        return float(self.deviation.measured.max())

    @property
    def failing(self) -> tuple[Premise, ...]:
        return tuple(premise for premise in self.premises if premise.holds is False)

    def lemma(self, name: str) -> PrintedLemma:
        found = {one.name: one for one in self.printed}
        if name not in found:
            raise one_of(name, found, option="lemma")
        return found[name]

    def display_facts(self) -> Row:
        return {
            "network": self.network,
            "measured": self.error,
            "deviation_bound": self.deviation.quantiles()["most"],
            "valid_bound": self.valid,
            **{f"estimate_{one.name}": one.bound for one in self.printed},
            "data_name": self.deviation.data_name,
            "samples": self.deviation.samples,
        }

    def display_rows(self) -> list[Row]:
        """One row a layer."""
        return [layer.to_json() for layer in self.layers]

    def display_text(self) -> str:
        from netpact.papers.guha.lemmas.wording import describe

        return describe(self)

    def to_json(self) -> dict[str, object]:
        return {
            "network": self.network,
            "data": self.deviation.data_name,
            "samples": self.deviation.samples,
            "scale": self.scale,
            "constant": self.constant,
            "layers": [layer.to_json() for layer in self.layers],
            "expected": [finite(one) for one in self.expected],
            "error": self.error,
            "valid": finite(self.valid),
            "printed": [one.to_json() for one in self.printed],
            "deviation": self.deviation.to_json(),
            "premises": [premise.to_json() for premise in self.premises],
        }
