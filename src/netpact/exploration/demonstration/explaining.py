"""Two further pages of the demonstration: why its network can be compressed, and what older bounds say of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netpact.bounds import estimate_bounds
from netpact.core.files import write_atomically
from netpact.core.seed import Seed
from netpact.measurements import MeasureOptions, Measures, measure
from netpact.models import load_model
from netpact.network import trace
from netpact.reports.beside import certificate_beside
from netpact.reports.bound_page import render_estimates
from netpact.reports.bound_rows import Row
from netpact.reports.measure_page import render_measures

if TYPE_CHECKING:
    from torch import nn

    from netpact.datasets import Data

MEASURES_PAGE, BOUNDS_PAGE = "measures.html", "bounds.html"
_SAMPLES = 64  # at which Jacobians are looked at: enough for the shape of the figures


def explain(weights: Path, start: nn.Module, data: Data, *, best: Path | None, seed: int) -> dict[str, str]:
    """Write both pages beside the weights. What each shows, in a few words, by the name of its file.

    start  the same network before training
    best   the certified file that stands beside the estimates: the network's own compressed form
    """
    trained = load_model(weights)
    options = MeasureOptions(samples=_SAMPLES, seed=Seed(seed))
    found = measure(trained, data, options, initial=start)
    write_atomically(
        weights.with_name(MEASURES_PAGE),
        render_measures(
            found,
            against=measure(start, data, options),
            against_name="the network before training",
            title=f"Why {found.provenance.model} can be compressed",
        ).encode(),
    )
    _write_bounds(weights.with_name(BOUNDS_PAGE), trained, found, data, best)
    return {
        MEASURES_PAGE: f"why {found.provenance.model} can be compressed: what was measured on it (Arora et al. 2018)",
        BOUNDS_PAGE: "published bounds evaluated for it, beside the certificate of its best file",
    }


def _write_bounds(path: Path, trained: nn.Module, found: Measures, data: Data, best: Path | None) -> None:
    network = trace(trained, data)
    estimates = estimate_bounds(network, data, measures=found)
    rows: list[Row] = list(estimates.rows)
    if best is not None:
        rows.append(certificate_beside(best, network, data))
    write_atomically(path, render_estimates(rows, estimates, data).encode())
