"""Figures of measured tails: the share of a layer's numbers above each size, beside the power law that was fitted."""

from __future__ import annotations

import math

from netpact.measurements.tails import LayerTails, TailFit, Tails
from netpact.reports.charts.curves import Curve, draw_curves
from netpact.reports.charts.figure import Figure


def draw_tails(tails: Tails, *, width: int = 760) -> list[Figure]:
    """One figure for each layer with a fit; `netpact.reports.charts.figure.save_figures` writes them."""
    found = [draw_tail(layer, place, width=width) for place, layer in enumerate(tails.layers, start=1)]
    return [figure for figure in found if figure is not None]


def draw_tail(layer: LayerTails, place: int = 1, *, width: int = 760) -> Figure | None:
    """On two logarithmic axes a power law is a straight line, of slope 1 - alpha; None without a fit."""
    curves = []
    for what, found in (("weights", layer.weights), ("eigenvalues", layer.eigenvalues)):
        if found is not None:
            curves += [Curve(what, _measured(found)), Curve(f"{what}: alpha {found.alpha:.3g}", _fitted(found))]
    if not curves:
        return None
    return draw_curves(
        curves,
        name=f"tails-{place}",
        title=f"Tails of {layer.name}",
        x_title="size, over the start of the tail (logarithmic)",
        y_title="log10 of the share above",
        width=width,
        logarithmic=True,
    )


def _measured(found: TailFit) -> tuple[tuple[float, float], ...]:
    return tuple((size / found.fit.xmin, math.log10(share)) for size, share in found.curve)


def _fitted(found: TailFit) -> tuple[tuple[float, float], ...]:
    """From the start of the tail to the largest number."""
    start = math.log10(found.fit.tail_count / found.fit.count)
    end = found.curve[-1][0] / found.fit.xmin
    return (1.0, start), (end, start - found.tail_index * math.log10(end))
