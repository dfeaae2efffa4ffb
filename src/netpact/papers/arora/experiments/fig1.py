"""Figure 1: what is measured on a trained network against a random one (section 6.1)."""

from __future__ import annotations

import math
from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.papers.arora.comparing import MEDIANS, Seeded, later, power, ratio, spread_panel
from netpact.papers.arora.layer_study import CONTRACTION, CUSHION, DRAWN, INTERLAYER, SMOOTHNESS, LayerStudy
from netpact.papers.arora.presets import VGG
from netpact.papers.arora.studying import PaperPlan

_AFTER_FIRST = f"{MEDIANS}, trained / random, geometric mean over the layers after the first"


def _later_cushion_gain(one: Seeded) -> float:
    return ratio(later(one[VGG].layers), later(one[VGG].random), CUSHION)


def _against_random(quantity: str, one: Seeded) -> float:
    # The first layer sees the same images in both networks: its contraction is 1.
    return ratio(one[VGG].layers[1:], one[VGG].random[1:], quantity)


def _clipped_share(one: Seeded) -> float:
    """The share of the layers after the first in which 1/sqrt(h) is the smaller one, so that clipping sets it."""
    layers = one[VGG].layers[1:-1]  # nothing follows the last layer
    worst = [(layer.sampled[INTERLAYER].worst, layer.units) for layer in layers if INTERLAYER in layer.sampled]
    return sum(power(least) >= 1 / math.sqrt(units) for least, units in worst) / len(worst)


def _show(found: Experiment) -> list[Panel]:
    first: LayerStudy = found.chosen(VGG)[0]
    words = f"Filled: {first.model}, trained; outline: the same layers with Gaussian weights. Seed {first.seed}."
    return [spread_panel(name, first.layers, first.random, words, tag="random") for name in DRAWN]


EXPERIMENTS.add(
    PaperPlan(
        name="arora-fig1",
        title="Figure 1: what is measured on a trained network against a random one",
        studies=(VGG,),
        questions=(
            Question(
                "Training raises the layer cushion, of the higher layers above all (6.1, Figure 1a)",
                f"{MEDIANS}, trained / random, geometric mean over the later half of the layers: > 1",
                _later_cushion_gain,
            ),
            # "Behaves nicely": at most a factor of 2 worse than random.
            Question(
                "The interlayer cushion behaves nicely after training (6.1, Figure 1b)",
                f"{_AFTER_FIRST}: >= 0.5",
                partial(_against_random, INTERLAYER),
            ),
            Question(
                "Activation contraction behaves nicely after training (6.1, Figure 1c)",
                f"{_AFTER_FIRST}: <= 2",
                partial(_against_random, CONTRACTION),
            ),
            Question(
                "Interlayer smoothness behaves nicely after training (6.1, Figure 1d)",
                f"{_AFTER_FIRST}: >= 0.5",
                partial(_against_random, SMOOTHNESS),
            ),
            Question(
                "Clipping sets the interlayer cushion to 1/sqrt(h) in all layers but the first (caption of Figure 1)",
                "share of the layers between the first and the last whose worst sample is not below 1/sqrt(h): >= 1",
                _clipped_share,
                published=1,
            ),
        ),
        show=_show,
    )
)
