"""The numbers that the rules are about: one for the networks of one seed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from netpact.experiments.findings import earlier, later, ratio, share_where
from netpact.experiments.presets import ALEXNET, SHUFFLED, VGG
from netpact.experiments.records import CONTRACTION, CUSHION, INTERLAYER, Study, StudyLayer
from netpact.experiments.studying import NORM_BASED

Seeded = Mapping[str, Study]
FITTED = 0.05  # "the training error is almost zero"
_FIFTH = 4  # Figure 2, left, is about the 5th layer


def _power(number: float | None) -> float:
    return math.inf if number is None else number


def later_cushion_gain(one: Seeded) -> float:
    return ratio(later(one[VGG].layers), later(one[VGG].random), CUSHION)


def against_random(quantity: str, one: Seeded) -> float:
    # The first layer sees the same images in both networks: its contraction is 1.
    return ratio(one[VGG].layers[1:], one[VGG].random[1:], quantity)


def clipped_share(one: Seeded) -> float:
    """The share of the layers after the first in which 1/sqrt(h) is the smaller one, so that clipping sets it."""
    layers = one[VGG].layers[1:-1]  # nothing follows the last layer
    worst = [(layer.sampled[INTERLAYER].worst, layer.units) for layer in layers if INTERLAYER in layer.sampled]
    return sum(_power(least) >= 1 / math.sqrt(units) for least, units in worst) / len(worst)


def norms_above_ours(reading: str, one: Seeded) -> float:
    bounds: Mapping[str, float | None] = getattr(one[VGG], reading)
    return min(_power(bounds[name]) for name in NORM_BASED) - _power(one[VGG].bounds["figure-2"])


def norms_above_vc(one: Seeded) -> float:
    return min(_power(one[VGG].bounds[name]) for name in NORM_BASED) - _power(one[VGG].bounds["vc"])


def others_above_spectral(one: Seeded) -> float:
    others = min(_power(one[VGG].bounds[name]) for name in NORM_BASED if name != "spec-l1-2")
    return others - _power(one[VGG].bounds["spec-l1-2"])


def change_in_training(one: Seeded) -> float:
    powers = [observed.bounds["figure-2"] for observed in one[VGG].epochs]
    return _power(powers[-1]) - _power(powers[0])


def change_after_fitting(one: Seeded) -> float:
    """Of the generalization error, between the first and the last look at a network that fits its labels."""
    gaps = [seen.gap for seen in one[VGG].epochs if seen.train_error < FITTED and seen.gap is not None]
    return gaps[-1] - gaps[0] if len(gaps) > 1 else math.nan


def fifth_layer_ratio(quantity: str, one: Seeded) -> float:
    part = slice(_FIFTH, _FIFTH + 1)
    return ratio(one[ALEXNET].layers[part], one[SHUFFLED].layers[part], quantity)


def true_minus_shuffled(one: Seeded) -> float:
    return _power(one[ALEXNET].bounds["figure-2"]) - _power(one[SHUFFLED].bounds["figure-2"])


def true_share(quantity: str, larger: bool, one: Seeded) -> float:
    # The first layer's input is the image, so that its contraction is 1 in both.
    skip = 1 if quantity == CONTRACTION else 0
    return share_where(one[ALEXNET].layers, one[SHUFFLED].layers, quantity, larger=larger, skip=skip)


def later_against_earlier(one: Seeded) -> float:
    halves = (later(one[VGG].layers), earlier(one[VGG].layers))
    return math.exp(_log_median(halves[0]) - _log_median(halves[1]))


def _log_median(layers: Sequence[StudyLayer]) -> float:
    return statistics.median(math.log(layer.percent) for layer in layers)


def least_percent(one: Seeded) -> float:
    return min(layer.percent for layer in later(one[VGG].layers))
