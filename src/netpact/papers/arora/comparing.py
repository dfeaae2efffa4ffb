"""Two networks compared layer by layer: numbers for rules, and figures of both distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from netpact.experiments import Panel
from netpact.papers.arora.layer_study import CONTRACTION, CUSHION, INTERLAYER, SMOOTHNESS, LayerStudy, StudyLayer
from netpact.reports.charts.distributions import Spread, draw_distributions

Seeded = Mapping[str, LayerStudy]  # the networks of one seed
MEDIANS = "median over the samples"
_HEADINGS = {
    CUSHION: "Layer cushion",
    INTERLAYER: "Minimal interlayer cushion, not clipped",
    CONTRACTION: "Activation contraction",
    SMOOTHNESS: "Interlayer smoothness",
}


def ratio(first: Sequence[StudyLayer], second: Sequence[StudyLayer], quantity: str) -> float:
    """The geometric mean over layers of: median of the first network / median of the second."""
    logs = []
    for one, other in zip(first, second, strict=True):
        if quantity in one.sampled and quantity in other.sampled:
            above, below = one.sampled[quantity].median, other.sampled[quantity].median
            if above is None or below is None or above <= 0 or below <= 0:
                return math.nan
            logs.append(math.log(above / below))
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def later(layers: Sequence[StudyLayer]) -> Sequence[StudyLayer]:
    """The second half of the layers; the one in the middle is not among them."""
    return layers[-(len(layers) // 2) :]


def earlier(layers: Sequence[StudyLayer]) -> Sequence[StudyLayer]:
    return layers[: len(layers) // 2]


def power(log10: float | None) -> float:
    return math.inf if log10 is None else log10


def spread_panel(name: str, own: Sequence[StudyLayer], other: Sequence[StudyLayer], words: str, *, tag: str) -> Panel:
    """One quantity, layer by layer: the first network filled, the second as an outline."""
    rows = []
    for one, two in zip(own, other, strict=True):
        if name in one.sampled and name in two.sampled and one.sampled[name].numbers and two.sampled[name].numbers:
            first, second = one.sampled[name], two.sampled[name]
            numbers = (np.array(first.numbers), np.array(second.numbers))
            rows.append(Spread(one.name, numbers[0], first.worst or 0.0, numbers[1], second.worst))
    heading = _HEADINGS[name]
    return Panel(
        heading,
        f"{words} The tick below a row is the worst sample.",
        lambda width: draw_distributions(rows, name=f"{name}-{tag}", title=heading, axis_title=heading, width=width),
    )


def true_and_shuffled(alexnet: LayerStudy, shuffled: LayerStudy) -> list[Panel]:
    words = f"Filled: {alexnet.model}, true labels; outline: shuffled labels. Seed {alexnet.seed}."
    return [
        spread_panel(name, alexnet.layers, shuffled.layers, words, tag="shuffled") for name in (CUSHION, CONTRACTION)
    ]
