"""Figures with a row for each layer: norms, ranks, tails, effective parameters; and spectra as curves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from netpact.reports.charts.curves import Curve, draw_curves
from netpact.reports.charts.dots import Series, draw_dots
from netpact.reports.charts.figure import Figure
from netpact.reports.frame import Panel

if TYPE_CHECKING:
    from netpact.measurements import LayerMeasures, Measures

_TOGETHER = 4  # spectra in one figure
# Heading, words, title of the axis; what is drawn and how the legend names it. "parameters" is the layer's own.
_FIGURES: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    (
        "Effective parameters",
        "How many parameters each layer needs by Arora et al. 2018 (Table 1), beside those it has. An estimate.",
        "parameters",
        {"effective_parameters": "effective", "parameters": "stored"},
    ),
    (
        "Norms",
        "The operator norm from above and the Frobenius norm of each layer.",
        "norm",
        {"spectral_upper": "operator norm", "frobenius": "Frobenius norm"},
    ),
    (
        "Ranks",
        "The stable rank |A|_F^2 / |A|_op^2 of each layer, from below.",
        "rank",
        {"stable_rank": "stable rank"},
    ),
    (
        "Tails",
        "The exponent of the power law in the tail of the weights and of the eigenvalues of W^T W; smaller is heavier.",
        "alpha",
        {"weight_alpha": "weights", "eigenvalue_alpha": "eigenvalues"},
    ),
)
_SPECTRA = ("cp_spectrum_normalised", "cp_spectrum")


def layer_panels(measures: Measures) -> Iterator[Panel]:
    """Those of which something was measured."""
    for heading, words, axis, series in _FIGURES:
        found = [
            Series(said, tuple(_number(layer, name) for layer in measures.layers)) for name, said in series.items()
        ]
        measured = [name for name in series if name != "parameters"]
        if any(layer.get(name) is not None for name in measured for layer in measures.layers):
            names = [layer.name for layer in measures.layers]
            shown = [one for one in found if any(one.numbers)]
            yield Panel(heading, words, partial(_draw, names, shown, heading=heading, axis=axis))
    yield from _spectra(measures)


def _draw(names: Sequence[str], series: Sequence[Series], width: int, *, heading: str, axis: str) -> Figure:
    name = heading.lower().replace(" ", "-")
    return draw_dots(names, series, name=name, title=heading, axis_title=axis, width=width)


def _number(layer: LayerMeasures, name: str) -> tuple[float, ...]:
    if name == "parameters":
        return (float(layer.parameters),)
    found = layer.get(name)
    return () if found is None else (found.value,)


def _spectra(measures: Measures) -> Iterator[Panel]:
    """The sizes of the components of each layer, largest first, a few layers in each figure."""
    for name in _SPECTRA:
        curves = [(layer.name, points) for layer in measures.layers if (points := _points(layer, name))]
        for start in range(0, len(curves), _TOGETHER):
            few = curves[start : start + _TOGETHER]
            heading = f"CP spectra of {', '.join(label for label, _ in few)}"
            words = "log10 of the size of each component of a layer, largest first (Li et al. 2020, Figure 1)."
            yield Panel(heading, words, partial(_draw_spectra, few, f"spectra-{start // _TOGETHER + 1}", heading))
        if curves:
            return


def _points(layer: LayerMeasures, name: str) -> tuple[tuple[float, float], ...]:
    ends = layer.pairs.get(name, {})
    sizes = [ends[place].value for place in sorted(ends)]
    return tuple((place, math.log10(size)) for place, size in enumerate(sizes, 1) if size > 0 and math.isfinite(size))


def _draw_spectra(
    few: Sequence[tuple[str, tuple[tuple[float, float], ...]]], name: str, title: str, width: int
) -> Figure:
    return draw_curves(
        [Curve(label, points) for label, points in few],
        name=name,
        title=title,
        x_title="component",
        y_title="log10 of its size",
        width=width,
    )
