"""Spiked Johnson-Lindenstrauss compression: the size of Bx, and how evenly a first layer stretches (section 5.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from netpact.experiments import EXPERIMENTS, Experiment, Question
from netpact.papers.shin.noise_study import FirstLayer, NoiseStudy
from netpact.papers.shin.presets import MLP
from netpact.papers.shin.spiked import Spikes
from netpact.papers.shin.studying import ALPHAS, CENTRED, POSITIVE, PaperPlan, label_spikes
from netpact.reports.frame import frame_table
from netpact.reports.text import escape

Seeded = Mapping[str, NoiseStudy]
_SETTLED = 4.0  # from this alpha on squares have a variance


def _simulated(one: Seeded, alpha: float, kind: str) -> Spikes:
    return next(found for found in one[MLP].simulated if found.label == label_spikes(alpha, kind))


def _off_printed(one: Seeded) -> float:
    return _simulated(one, ALPHAS[1], POSITIVE).off_printed


def _off_corrected(one: Seeded) -> float:
    logs = [
        abs(math.log(_simulated(one, alpha, kind).off_corrected))
        for alpha in ALPHAS
        for kind in (POSITIVE, CENTRED)
        if alpha > _SETTLED
    ]
    return math.exp(max(logs))


def _first(one: Seeded) -> FirstLayer:
    found = one[MLP].first
    assert found is not None, "its first layer is dense"
    return found


def _independent(one: Seeded) -> float:
    return _first(one).spikes.off_corrected


def _stretch(one: Seeded) -> float:
    return _first(one).noisy / _first(one).gaussian


def _show(found: Experiment) -> list[str]:
    rows, layers = [], []
    for study in found.chosen(MLP):
        first = study.first
        for one in (*study.simulated, first.spikes):
            numbers = [f"{number:.4g}" for number in (one.measured, one.corrected, one.printed)]
            ratios = (f"{one.off_corrected:.3f}", f"{one.off_printed:.3f}")
            rows.append((f"{escape(one.label)}, seed {study.seed}", *numbers, *ratios))
        numbers = [f"{number:.3f}" for number in (first.trained, first.noisy, first.gaussian)]
        layers.append((f"{escape(study.model)}, seed {study.seed}", escape(study.data), *numbers))
    return [
        frame_table(
            "The mean of (Bx)_i^2",
            ("matrix, vector", "measured", "corrected", "printed", "measured / corrected", "measured / printed"),
            rows,
            note="Simulated: 200,000 rows of 64 power-law entries from 1 up, kept above 1.5. First layer: those "
            "above one standard deviation, the network's training inputs, moments of the layer's own entries.",
        ),
        frame_table(
            "How unevenly the first layer stretches differences of inputs",
            ("network", "data", "W", "sqrt(t) G + B", "Gaussian of the same size"),
            layers,
            note="Standard deviation over mean of |W d| / |d|; near 0 for a Johnson-Lindenstrauss map.",
        ),
    ]


EXPERIMENTS.add(
    PaperPlan(
        name="shin-jl",
        title="Section 5.1: spiked Johnson-Lindenstrauss compression",
        studies=(MLP,),
        questions=(
            Question(
                "(10) is the mean of (Bx)_i^2, as printed",
                f"simulated / printed, alpha = {ALPHAS[1]:g}, x in [0, 1]: < 1.1",
                _off_printed,
            ),
            Question(
                "The same with the cross terms",
                f"simulated / corrected or its inverse, largest over alpha > {_SETTLED:g} and both kinds of x: < 1.05",
                _off_corrected,
            ),
            Question(
                "Kept entries of a trained layer act as independent ones (Remark 3)",
                "measured / corrected, first dense layer on its inputs: < 1.5",
                _independent,
            ),
            Question(
                "sqrt(t) G + B of an early layer is nearly a Johnson-Lindenstrauss map (section 5.1)",
                "unevenness of sqrt(t) G + B over that of Gaussian noise of the same size: < 1.5",
                _stretch,
            ),
        ),
        show=_show,
    )
)
