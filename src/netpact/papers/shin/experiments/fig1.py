"""Figure 1: densities of alpha-stable distributions; which of them trained weights have (3, 3.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np
from scipy.stats import levy_stable

from netpact.algebra import stable_density, stable_tail_constant
from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.papers.shin.tail_presets import FAMILIES
from netpact.papers.shin.tail_study import LayerTail, TailPlan, TailStudy
from netpact.reports.charts.curves import Curve, draw_curves
from netpact.reports.charts.figure import Figure
from netpact.reports.frame import frame_table
from netpact.reports.text import escape

Seeded = Mapping[str, TailStudy]
_ALPHAS = (0.5, 1.0, 1.5, 2.0)
_POWER = (1.0, 1.5)  # with alpha 0.5 the density reaches its tail far beyond 100
_REACH, _PLACES, _FAR = 5.0, 201, 100.0
_CLEAR = 2.0  # standard errors


def density_error() -> float:
    """The largest relative difference to scipy, whose formula is another one, over the places of the figure."""
    x = np.linspace(-_REACH, _REACH, 41)
    return max(
        float(np.abs(stable_density(x, alpha=alpha) / levy_stable.pdf(x, alpha, 0.0) - 1).max()) for alpha in _ALPHAS
    )


def tail_error() -> float:
    """How far the density at 100 is from eq. (12), relative, at most over alpha 1 and 1.5."""
    return max(
        abs(float(stable_density(_FAR, alpha=alpha)) * _FAR ** (alpha + 1) / (alpha * stable_tail_constant(alpha)) - 1)
        for alpha in _POWER
    )


def _layers(one: Seeded) -> list[LayerTail]:
    return [layer for study in one.values() for layer in study.layers if layer.stable_alpha is not None]


def _share(holds: list[bool]) -> float:
    return sum(holds) / len(holds) if holds else math.nan


def _heavy(one: Seeded) -> float:
    """Layers whose alpha is below 2 by more than two standard errors."""
    return _share([(layer.stable_alpha or 2) + _CLEAR * (layer.stable_stderr or 0) < 2 for layer in _layers(one)])


def _over(field: str, one: Seeded) -> float:
    return _share([getattr(layer, field) > 0 for layer in _layers(one)])


def _draw_densities(width: int) -> Figure:
    x = np.linspace(-_REACH, _REACH, _PLACES)
    curves = [
        Curve(f"alpha {alpha:g}", tuple(zip(x.tolist(), stable_density(x, alpha=alpha).tolist(), strict=True)))
        for alpha in _ALPHAS
    ]
    told = "Densities of alpha-stable distributions"
    return draw_curves(curves, name="stable-densities", title=told, x_title="w", y_title="density", width=width)


def _draw_tails(width: int) -> Figure:
    x = np.geomspace(1, 1000, 61)
    curves = [
        Curve(f"alpha {alpha:g}", tuple((float(at), math.log10(float(stable_density(at, alpha=alpha)))) for at in x))
        for alpha in _ALPHAS[:-1]
    ]
    return draw_curves(
        curves,
        name="stable-tails",
        title="Tails of alpha-stable distributions",
        x_title="w (logarithmic)",
        y_title="log10 of the density",
        width=width,
        logarithmic=True,
    )


def _show(found: Experiment) -> list[Panel | str]:
    heads = ("layer", "stable alpha", "its standard error", "over Gaussian", "over Laplace")
    rows = [
        (
            escape(f"{study.model} {layer.name}"),
            f"{layer.stable_alpha:.3f}",
            f"{layer.stable_stderr:.3f}",
            f"{layer.over_gaussian:+.4f}",
            f"{layer.over_laplace:+.4f}",
        )
        for study in found.studies
        if study.seed == found.seeds[0] and isinstance(study, TailStudy)
        for layer in _layers({study.study: study})
    ]
    note = "Over: log-likelihood per weight of the stable distribution less that of the other, both fitted."
    return [
        Panel("Figure 1", "Location 0, scale 1, beta 0; alpha 2 is a Gaussian with variance 2.", _draw_densities),
        Panel("Far out", "The slopes are -(alpha + 1), eq. (12). The Gaussian is not drawn.", _draw_tails),
        frame_table("Stable distributions of trained layers, first seed", heads, rows, note=note),
    ]


EXPERIMENTS.add(
    TailPlan(
        name="shin-fig1",
        title="Figure 1: alpha-stable distributions",
        studies=FAMILIES,
        questions=(
            Question(
                "The densities of Figure 1, computed in two ways",
                "largest relative difference to scipy, times 1,000,000: < 1",
                lambda one: 1e6 * density_error(),
            ),
            Question(
                "The density falls like alpha c^alpha c_alpha w^-(alpha+1) (eq. 12)",
                "relative difference at w = 100, alpha 1 and 1.5, in percent: < 1",
                lambda one: 100 * tail_error(),
            ),
            Question(
                "Weights trained by SGD have a stable distribution that is not Gaussian (3.1)",
                "share of the layers with a stable alpha below 2 by two standard errors: > 0.5",
                _heavy,
            ),
            Question(
                "Weights are nearer to a stable distribution than to a Gaussian (3.1)",
                "share of the layers with a higher likelihood of the stable one: > 0.5",
                partial(_over, "over_gaussian"),
            ),
            Question(
                "Weights are nearer to a stable distribution than to a Laplace distribution (3.1; Remark 1 doubts it)",
                "share of the layers with a higher likelihood of the stable one: > 0.5",
                partial(_over, "over_laplace"),
            ),
        ),
        show=_show,
    )
)
