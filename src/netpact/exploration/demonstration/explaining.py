"""What the page of the demonstration says beyond the comparison: why its network can be compressed, older bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netpact.bounds import Estimates, estimate_bounds
from netpact.core.seed import Seed
from netpact.measurements import MeasureOptions, Measures, measure
from netpact.models import load_model
from netpact.network import Network, trace
from netpact.reports.beside import certificate_beside
from netpact.reports.bound_page import bound_parts
from netpact.reports.bound_rows import Row, least_by_paper
from netpact.reports.frame import Section
from netpact.reports.measure_page import measure_parts

if TYPE_CHECKING:
    from torch import nn

    from netpact.datasets import Data

_SAMPLES = 64  # at which Jacobians are looked at: enough for the shape of the figures


@dataclass(frozen=True)
class Explanation:
    """What was measured on a network, before and after training, and what published bounds come to for it."""

    network: Network
    measures: Measures
    before: Measures
    estimates: Estimates

    @property
    def by_paper(self) -> dict[str, float]:
        return least_by_paper(self.estimates.rows)

    def sections(self, data: Data, *, best: Path | None) -> Sequence[Section]:
        """best: the certified file that stands beside the estimates: the network's own compressed form."""
        name = self.measures.provenance.model
        parts = measure_parts(self.measures, against=self.before, against_name="the network before training")
        rows: list[Row] = list(self.estimates.rows)
        if best is not None:
            rows.append(certificate_beside(best, self.network, data))
        return (
            Section("measured", f"Why {name} can be compressed", parts),
            Section("bounds", f"Published bounds for {name}", bound_parts(rows, samples=self.estimates.samples)),
        )


def explain(weights: Path, start: nn.Module, data: Data, *, seed: int) -> Explanation:
    """start: the same network before training."""
    trained = load_model(weights)
    options = MeasureOptions(samples=_SAMPLES, seed=Seed(seed))
    found = measure(trained, data, options, initial=start)
    network = trace(trained, data)
    estimates = estimate_bounds(network, data, measures=found)
    return Explanation(network, found, measure(start, data, options), estimates)
