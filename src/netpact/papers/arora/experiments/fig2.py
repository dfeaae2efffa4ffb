"""Figure 2: bounds compared, a bound over training, true against shuffled labels (sections 6.2 and 6.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from netpact.bounds import RULES
from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.monitoring.drawing import draw_history
from netpact.papers.arora.comparing import MEDIANS, Seeded, power, ratio, true_and_shuffled
from netpact.papers.arora.layer_study import CONTRACTION, CUSHION, LayerStudy
from netpact.papers.arora.presets import ALEXNET, SHUFFLED, VGG
from netpact.papers.arora.studying import NORM_BASED, OURS, PaperPlan
from netpact.reports.bound_rows import BoundRow
from netpact.reports.charts.bars import draw_bars

_ORDERS = 2.0  # powers of ten that "orders of magnitude" means at least
_FITTED = 0.05  # "the training error is almost zero"
_FIFTH = slice(4, 5)  # the left of the figure is about the 5th layer


def _closest(bounds: Mapping[str, float | None]) -> float:
    return min(power(bounds[name]) for name in NORM_BASED)


def _norms_above_ours(one: Seeded) -> float:
    return _closest(one[VGG].bounds) - power(one[VGG].bounds[OURS])


def _reshaped_above_ours(one: Seeded) -> float:
    return _closest(one[VGG].reshaped) - power(one[VGG].bounds[OURS])


def _norms_above_vc(one: Seeded) -> float:
    return _closest(one[VGG].bounds) - power(one[VGG].bounds["vc"])


def _others_above_spectral(one: Seeded) -> float:
    others = min(power(one[VGG].bounds[name]) for name in NORM_BASED if name != "spec-l1-2")
    return others - power(one[VGG].bounds["spec-l1-2"])


def _change_in_training(one: Seeded) -> float:
    powers = [observed.bounds[OURS] for observed in one[VGG].epochs]
    return power(powers[-1]) - power(powers[0])


def _change_after_fitting(one: Seeded) -> float:
    """Of the generalization error, between the first and the last look at a network that fits its labels."""
    gaps = [seen.gap for seen in one[VGG].epochs if seen.train_error < _FITTED and seen.gap is not None]
    return gaps[-1] - gaps[0] if len(gaps) > 1 else math.nan


def _fifth_layer_ratio(quantity: str, one: Seeded) -> float:
    return ratio(one[ALEXNET].layers[_FIFTH], one[SHUFFLED].layers[_FIFTH], quantity)


def _true_minus_shuffled(one: Seeded) -> float:
    return power(one[ALEXNET].bounds[OURS]) - power(one[SHUFFLED].bounds[OURS])


def _show(found: Experiment) -> list[Panel]:
    first: LayerStudy = found.chosen(VGG)[0]
    rows = [_bound_row(first, name, log10) for name, log10 in first.bounds.items()]
    return [
        Panel(
            "Bounds compared",
            f"{first.model}, seed {first.seed}; depth, constants and logarithms are left out.",
            lambda width: draw_bars(rows, samples=first.samples, width=width),
        ),
        Panel(
            "Bound over training",
            "log10 of the capacity, rescaled to the range of the generalization error.",
            lambda width: draw_history(first.epochs, OURS, width=width),
        ),
        *true_and_shuffled(found.chosen(ALEXNET)[0], found.chosen(SHUFFLED)[0]),
    ]


def _bound_row(study: LayerStudy, name: str, log10: float | None) -> BoundRow:
    return BoundRow(
        name=name,
        kind="estimate",
        value=math.inf,
        log10=power(log10),
        theorem=RULES[name].theorem,
        samples=study.samples,
        assumptions=(),
        ignored=RULES[name].ignored,
    )


EXPERIMENTS.add(
    PaperPlan(
        name="arora-fig2",
        title="Figure 2: bounds compared, a bound over training, true against shuffled labels",
        studies=(VGG, ALEXNET, SHUFFLED),
        questions=(
            Question(
                "All norm-based bounds are orders of magnitude above the new one (6.3, Figure 2 middle)",
                f"log10 of the closest capacity minus that of figure-2, norms of the linear maps: >= {_ORDERS:g}",
                _norms_above_ours,
            ),
            Question(
                "The same with the filters of a convolution taken as one matrix",
                f"log10 of the closest capacity minus that of figure-2, norms of the reshaped filters: >= {_ORDERS:g}",
                _reshaped_above_ours,
            ),
            Question(
                "The closest of them is spec-l1,2 (6.3)",
                "log10 of the closest of the other three minus that of spec-l1-2: > 0",
                _others_above_spectral,
            ),
            Question(
                "Even the closest is far above the VC dimension (6.3)",
                f"log10 of the closest capacity minus that of vc: >= {_ORDERS:g}",
                _norms_above_vc,
            ),
            Question(
                "The bound keeps improving during training (6.2, Figure 2 right)",
                "log10 capacity of figure-2, last look minus first: < 0",
                _change_in_training,
            ),
            Question(
                "Once the training error is almost zero, the generalization error keeps falling too (6.2, Figure 2 "
                "right)",
                f"test minus training error, last look minus the first with a training error below {_FITTED:.0%}: < 0",
                _change_after_fitting,
            ),
            Question(
                "True labels give a larger layer cushion than corrupted ones (6.2, Figure 2 left)",
                f"{MEDIANS} in the 5th layer of AlexNet, true / shuffled: > 1",
                partial(_fifth_layer_ratio, CUSHION),
            ),
            Question(
                "True labels give a smaller activation contraction (6.2, Figure 2 left)",
                f"{MEDIANS} in the 5th layer of AlexNet, true / shuffled: < 1",
                partial(_fifth_layer_ratio, CONTRACTION),
            ),
            Question(
                "The bound is consistent: smaller for true labels (6.2)",
                "log10 capacity of figure-2, true minus shuffled: < 0",
                _true_minus_shuffled,
            ),
        ),
        show=_show,
    )
)
