"""Figures 3 and 8: what is measured on well-trained, corrupted and random networks (section 5.1, appendix A.5)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.papers.li.comparing import Seeded, layer_panel
from netpact.papers.li.layer_properties import EPS, QUARTER, LayerProperties
from netpact.papers.li.presets import CORRUPTED, NOISE, RANDOM, TRAINED
from netpact.papers.li.studying import PaperPlan

Number = Callable[[LayerProperties], float]
_LABELS = {TRAINED: "well-trained", CORRUPTED: f"{NOISE:.0%} label noise", RANDOM: "random"}
_J = f"j = R / {QUARTER}"
_MEAN = "geometric mean over convolutions"


def _kept(layer: LayerProperties) -> float:
    return layer.kept


def _validly(layer: LayerProperties) -> float:
    return layer.kept_validly


def _tensorization(layer: LayerProperties) -> float:
    return layer.tensorization


def _noise(layer: LayerProperties) -> float:
    return layer.noise


def _relative(layer: LayerProperties) -> float:
    return layer.relative_noise


def _cushion(layer: LayerProperties) -> float:
    return layer.cushion


def ratio(first: str, second: str, number: Number, one: Seeded) -> float:
    """The geometric mean over layers of: number of the first network / number of the second."""
    pairs = zip(one[first].properties, one[second].properties, strict=True)
    logs = [_log(number(mine)) - _log(number(other)) for mine, other in pairs]
    return math.exp(math.fsum(logs) / len(logs)) if all(map(math.isfinite, logs)) else math.nan


def _log(number: float) -> float:
    return math.log(number) if number > 0 else math.nan


def _total(first: str, second: str, number: Number, one: Seeded) -> float:
    sums = [math.fsum(map(number, one[name].properties)) for name in (first, second)]
    return sums[0] / sums[1]


_PANELS: tuple[tuple[str, str, Number], ...] = (
    ("Rank, as printed", f"components that Algorithm 3 keeps for eps = {EPS:g}", _kept),
    ("Rank, valid", f"components that Algorithm 3 keeps for eps = {EPS:g}, corrected", _validly),
    ("Tensorization factor", f"t_j, {_J}", _tensorization),
    ("Tensor noise bound", f"xi_j, {_J}", _noise),
    ("Tensor noise bound, relative", "xi_j / t_R", _relative),
    ("Layer cushion", "zeta", _cushion),
)


def _show(names: Sequence[str], found: Experiment) -> list[Panel]:
    panels = []
    for heading, y_title, number in _PANELS:
        curves = {}
        for name in names:
            layers = zip(*(study.properties for study in found.chosen(name)), strict=True)
            curves[_LABELS[name]] = [statistics.median(map(number, seeds)) for seeds in layers]
        words = f"The median over {len(found.seeds)} networks of each kind."
        panels.append(layer_panel(heading, words, curves, name=heading.lower().replace(" ", "-"), y_title=y_title))
    return panels


_AGAINST_CORRUPTED = (
    Question(
        "Algorithm 3 keeps much fewer components of a well-trained network (5.1, Figure 3a)",
        f"components kept in all convolutions as printed, eps = {EPS:g}, well-trained / corrupted: < 0.8",
        partial(_total, TRAINED, CORRUPTED, _kept),
    ),
    Question(
        "The well-trained network has the larger tensorization factor (A.5, Figure 3b)",
        f"t_j for {_J}, {_MEAN}, well-trained / corrupted: > 1",
        partial(ratio, TRAINED, CORRUPTED, _tensorization),
    ),
    Question(
        "The well-trained network has the smaller tensor noise bound (5.1, Figure 3c)",
        f"xi_j for {_J}, {_MEAN}, well-trained / corrupted: < 1",
        partial(ratio, TRAINED, CORRUPTED, _noise),
    ),
    # Not in the paper: a network of larger weights has a larger xi_j, and computes the same.
    Question(
        "The same, whatever the scale of the layers",
        f"xi_j / t_R for {_J}, {_MEAN}, well-trained / corrupted: < 1",
        partial(ratio, TRAINED, CORRUPTED, _relative),
    ),
    Question(
        "The well-trained network has the larger layer cushion (5.1, Figure 3d)",
        f"zeta, {_MEAN}, well-trained / corrupted: > 1",
        partial(ratio, TRAINED, CORRUPTED, _cushion),
    ),
)
_AGAINST_RANDOM = (
    Question(
        "The well-trained network has the largest tensorization factor (A.5, Figure 8)",
        f"t_j for {_J}, {_MEAN}, well-trained / random: > 1",
        partial(ratio, TRAINED, RANDOM, _tensorization),
    ),
    Question(
        "The random network has the largest tensor noise bound (A.5, Figure 8)",
        f"xi_j for {_J}, {_MEAN}, random / well-trained: > 1",
        partial(ratio, RANDOM, TRAINED, _noise),
    ),
    Question(
        "The same, whatever the scale of the layers",
        f"xi_j / t_R for {_J}, {_MEAN}, random / well-trained: > 1",
        partial(ratio, RANDOM, TRAINED, _relative),
    ),
    Question(
        "Algorithm 3 keeps most components of a random network (A.5: the least compressible)",
        f"components kept in all convolutions as printed, eps = {EPS:g}, random / well-trained: > 1",
        partial(_total, RANDOM, TRAINED, _kept),
    ),
)

EXPERIMENTS.add(
    PaperPlan(
        name="li-fig3",
        title="Figure 3: properties of well-trained and corrupted networks",
        studies=(TRAINED, CORRUPTED),
        questions=_AGAINST_CORRUPTED,
        show=partial(_show, (TRAINED, CORRUPTED)),
    )
)
EXPERIMENTS.add(
    PaperPlan(
        name="li-fig8",
        title="Figure 8: properties of well-trained, corrupted and random networks",
        studies=(TRAINED, CORRUPTED, RANDOM),
        questions=_AGAINST_RANDOM,
        show=partial(_show, (TRAINED, CORRUPTED, RANDOM)),
    )
)
