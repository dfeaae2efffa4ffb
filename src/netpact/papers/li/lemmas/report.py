"""The record of a compressed network beside Lemmas D.4, E.8 and F.3: measured, bounded, and as printed."""

from __future__ import annotations

from dataclasses import dataclass

from netpact.bounds.estimate import Premise
from netpact.core.display import Displayed, Row
from netpact.core.json import finite
from netpact.deviations import DeviationBound
from netpact.papers.li.lemmas.terms import LemmaBound


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TensorLemmaReport(Displayed):
    """A network f and its compressed form f^ on given samples. All errors are relative, the worst over the samples.

    measured    |X - X^| / |X| at the input X of the next weight layer, for each layer; the last one is |f - f^| / |f|
    lemma       the lemma in its valid form: proven for these samples where its premises hold
    printed     the same by the paper's own definitions, which the network may violate; None for a file
    deviation   netpact's deviation bound; relative_deviation: the most of it over |f|
    premises    what the lemma asks for beyond what was measured
    """

    network: str
    measured: tuple[float, ...]
    lemma: LemmaBound
    printed: LemmaBound | None
    deviation: DeviationBound
    relative_deviation: float
    premises: tuple[Premise, ...] = ()

    @property
    def relative_error(self) -> float:
        return self.measured[-1]

    @property
    def failing(self) -> tuple[Premise, ...]:
        return tuple(premise for premise in self.premises if premise.holds is False)

    def display_facts(self) -> Row:
        return {
            "network": self.network,
            "measured": self.relative_error,
            "deviation_bound": self.relative_deviation,
            "valid_lemma": self.lemma.error,
            "printed_lemma": None if self.printed is None else self.printed.error,
            "data_name": self.deviation.data_name,
            "samples": self.deviation.samples,
        }

    def display_rows(self) -> list[Row]:
        """One row a layer: relative errors."""
        printed = (None,) * len(self.measured) if self.printed is None else self.printed.errors
        shown = zip(self.measured, self.lemma.errors, printed, strict=True)
        return [
            {"layer": place, "measured": one, "valid_lemma": valid, "printed_lemma": as_printed}
            for place, (one, valid, as_printed) in enumerate(shown, start=1)
        ]

    def display_text(self) -> str:
        from netpact.papers.li.lemmas.wording import describe

        return describe(self)

    def to_json(self) -> dict[str, object]:
        return {
            "network": self.network,
            "data": self.deviation.data_name,
            "samples": self.deviation.samples,
            "measured": [finite(one) for one in self.measured],
            "lemma": self.lemma.to_json(),
            "printed": None if self.printed is None else self.printed.to_json(),
            "deviation": self.deviation.to_json(),
            "relative_deviation": finite(self.relative_deviation),
            "premises": [premise.to_json() for premise in self.premises],
        }
