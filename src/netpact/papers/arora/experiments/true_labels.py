"""Figures A.6 and A.7: true against shuffled labels, layer by layer (appendix D.2)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.papers.arora.comparing import MEDIANS, Seeded, true_and_shuffled
from netpact.papers.arora.layer_study import CONTRACTION, CUSHION, StudyLayer
from netpact.papers.arora.presets import ALEXNET, SHUFFLED
from netpact.papers.arora.studying import PaperPlan


def _share(quantity: str, better: Callable[[float, float], bool], skip: int, one: Seeded) -> float:
    """The share of the layers in which the median with true labels is better; so many first ones are not counted."""
    pairs = zip(one[ALEXNET].layers, one[SHUFFLED].layers, strict=True)
    found = [better(_median(true, quantity), _median(shuffled, quantity)) for true, shuffled in pairs][skip:]
    return sum(found) / len(found)


def _median(layer: StudyLayer, quantity: str) -> float:
    """NaN, which is neither larger nor smaller, where there is none."""
    found = layer.sampled[quantity].median
    return math.nan if found is None else found


def _show(found: Experiment) -> list[Panel]:
    return true_and_shuffled(found.chosen(ALEXNET)[0], found.chosen(SHUFFLED)[0])


EXPERIMENTS.add(
    PaperPlan(
        name="arora-corrupted",
        title="Figures A.6 and A.7: true against shuffled labels",
        studies=(ALEXNET, SHUFFLED),
        questions=(
            Question(
                "The layer cushion is larger with true labels, layer by layer (D.2, Figure A.6)",
                f"share of the layers of AlexNet whose {MEDIANS} is larger with true labels: > 0.5",
                partial(_share, CUSHION, operator.gt, 0),
            ),
            # The first layer's input is the image, so that its contraction is 1 in both.
            Question(
                "Activation contraction is smaller with true labels, layer by layer (D.2, Figure A.7)",
                f"share of the layers after the first whose {MEDIANS} is smaller with true labels: > 0.5",
                partial(_share, CONTRACTION, operator.lt, 1),
            ),
        ),
        show=_show,
    )
)
