"""What a page says beyond the comparison: why the network can be compressed, and what published bounds come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from netpact.bounds import Estimates, estimate_bounds
from netpact.comparisons.subject import thin
from netpact.core.seed import Seed
from netpact.datasets import Data
from netpact.measurements import QUANTITIES, MeasureOptions, Measures, measure
from netpact.measurements.from_initial import FROM_INITIAL
from netpact.network import Network, trace
from netpact.reports.bound_page import bound_parts
from netpact.reports.bound_rows import BoundRow, Row, least_by_paper
from netpact.reports.frame import Section
from netpact.reports.measure_page import measure_parts

if TYPE_CHECKING:
    from torch import nn

_FURTHER = ("weight_alpha", "eigenvalue_alpha", "cp_spectrum")  # a second or so for a network of twenty layers
_SAMPLES = 64  # at which Jacobians are looked at: enough for the shape of the figures


@dataclass(frozen=True)
class Explanation:
    """What was measured on a network, before training too where that is known, and what published bounds come to."""

    network: Network
    measures: Measures
    before: Measures | None
    estimates: Estimates

    @property
    def by_paper(self) -> dict[str, float]:
        return least_by_paper(self.estimates.rows)

    def sections(self, certificate: BoundRow | None) -> Sequence[Section]:
        """certificate: of the file that stands beside the estimates, the network's own compressed form."""
        name = self.measures.provenance.model
        parts = measure_parts(self.measures, against=self.before, against_name="the network before training")
        rows: list[Row] = [*self.estimates.rows, *(() if certificate is None else (certificate,))]
        return (
            Section("measured", f"Why {name} can be compressed", parts),
            Section("bounds", f"Published bounds for {name}", bound_parts(rows, samples=self.estimates.samples)),
        )


def explain(
    trained: nn.Module, data: Data, *, seed: int, start: nn.Module | None = None, samples: int | None = None
) -> Explanation:
    """start: the same network before training. samples: that are looked at, evenly spread; None: all.

    Estimates are for as many samples as there are, whatever their quantities were measured on.
    """
    few = data if samples is None else Data(data.name, data.classes, thin(data.train, samples))
    names = tuple(name for name, row in QUANTITIES.items() if not row.asked or name in _FURTHER)
    alone = tuple(name for name in names if name not in FROM_INITIAL)
    options = MeasureOptions(samples=min(_SAMPLES, few.train.count), seed=Seed(seed), only=alone)
    found = measure(trained, few, options if start is None else replace(options, only=names), initial=start)
    network = trace(trained, data)
    estimates = estimate_bounds(network, few, measures=found)
    rows = tuple(replace(row, samples=data.train.count) for row in estimates.rows)
    estimates = replace(estimates, rows=rows, samples=data.train.count)
    return Explanation(network, found, None if start is None else measure(start, few, options), estimates)
