"""Networks compared layer by layer: numbers for rules, and figures of spectra."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from netpact.experiments import Panel
from netpact.papers.li.spectrum import LayerSpectrum
from netpact.papers.li.study import TensorStudy
from netpact.reports.charts.curves import Curve, draw_curves

Seeded = Mapping[str, TensorStudy]  # the networks of one seed
_DRAWN = 200  # points of a curve


def mean_over_layers(study: TensorStudy, number: Callable[[LayerSpectrum], float]) -> float:
    return math.fsum(map(number, study.layers)) / len(study.layers)


def compare_layers(first: TensorStudy, second: TensorStudy, number: Callable[[LayerSpectrum], float]) -> float:
    """The share of the layers in which the first network's number is smaller than the second's."""
    pairs = [(number(one), number(other)) for one, other in zip(first.layers, second.layers, strict=True)]
    return sum(one < other for one, other in pairs) / len(pairs)


def spectrum_panel(
    heading: str, words: str, layers: Mapping[str, LayerSpectrum], *, name: str, normalised: bool = True
) -> Panel:
    """The amplitudes of several layers, each over the share of its components that are larger."""
    curves = [Curve(label, _points(layer, normalised=normalised)) for label, layer in layers.items()]
    y_title = "amplitude / largest" if normalised else "amplitude"
    return Panel(
        heading,
        words,
        lambda width: draw_curves(
            curves, name=name, title=heading, x_title="share of the components", y_title=y_title, width=width
        ),
    )


def layer_panel(heading: str, words: str, numbers: Mapping[str, Sequence[float]], *, name: str, y_title: str) -> Panel:
    """One number of each layer, from the first to the last; those that are not finite are left out."""
    curves = [
        Curve(label, tuple((float(place), one) for place, one in enumerate(found, start=1) if math.isfinite(one)))
        for label, found in numbers.items()
    ]
    return Panel(
        heading,
        words,
        lambda width: draw_curves(
            [one for one in curves if one.points],
            name=name,
            title=heading,
            x_title="convolution",
            y_title=y_title,
            width=width,
        ),
    )


def _points(layer: LayerSpectrum, *, normalised: bool) -> tuple[tuple[float, float], ...]:
    found = layer.normalised if normalised else np.array(layer.amplitudes)
    places = np.unique(np.linspace(0, len(found) - 1, min(_DRAWN, len(found))).round().astype(int))
    return tuple((float(place / len(found)), float(found[place])) for place in places)
