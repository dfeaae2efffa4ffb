"""What each experiment asks: the findings of Arora et al. 2018, section 6 and appendix D, and the rules over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from netpact.core.errors import one_of
from netpact.experiments.findings import Question, above_one, below_one, not_much_less, not_much_more
from netpact.experiments.presets import ALEXNET, SHUFFLED, VGG
from netpact.experiments.readings import (
    FITTED,
    against_random,
    change_after_fitting,
    change_in_training,
    clipped_share,
    fifth_layer_ratio,
    later_against_earlier,
    later_cushion_gain,
    least_percent,
    norms_above_ours,
    norms_above_vc,
    others_above_spectral,
    true_minus_shuffled,
    true_share,
)
from netpact.experiments.records import CONTRACTION, CUSHION, INTERLAYER, SMOOTHNESS

_ORDERS = 2.0  # powers of ten that "orders of magnitude" means at least
_AS_LOW = 5.0  # percent: all four of the later layers in Table 1 that the paper speaks of are below it
_MEDIANS = "median over the samples"
_MIDDLE = 0.5

FIGURE_1 = (
    Question(
        "Training raises the layer cushion, of the higher layers above all (6.1, Figure 1a)",
        f"{_MEDIANS}, trained / random, geometric mean over the later half of the layers: above 1",
        later_cushion_gain,
        above_one,
    ),
    Question(
        "The interlayer cushion behaves nicely after training (6.1, Figure 1b)",
        f"{_MEDIANS}, trained / random, geometric mean over the layers after the first: at least 1/2",
        partial(against_random, INTERLAYER),
        not_much_less,
    ),
    Question(
        "Activation contraction behaves nicely after training (6.1, Figure 1c)",
        f"{_MEDIANS}, trained / random, geometric mean over the layers after the first: at most 2",
        partial(against_random, CONTRACTION),
        not_much_more,
    ),
    Question(
        "Interlayer smoothness behaves nicely after training (6.1, Figure 1d)",
        f"{_MEDIANS}, trained / random, geometric mean over the layers after the first: at least 1/2",
        partial(against_random, SMOOTHNESS),
        not_much_less,
    ),
    Question(
        "Clipping sets the interlayer cushion to 1/sqrt(h) in all layers but the first (caption of Figure 1)",
        "share of the layers between the first and the last whose worst sample is not below 1/sqrt(h): all",
        clipped_share,
        lambda number: number >= 1,
    ),
)
FIGURE_2 = (
    Question(
        "All norm-based bounds are orders of magnitude above the new one (6.3, Figure 2 middle)",
        "log10 of the closest capacity minus that of figure-2, norms of the linear maps: at least 2",
        partial(norms_above_ours, "bounds"),
        lambda number: number >= _ORDERS,
    ),
    Question(
        "The same with the filters of a convolution taken as one matrix",
        "log10 of the closest capacity minus that of figure-2, norms of the reshaped filters: at least 2",
        partial(norms_above_ours, "reshaped"),
        lambda number: number >= _ORDERS,
    ),
    Question(
        "The closest of them is spec-l1,2 (6.3)",
        "log10 of the closest of the other three minus that of spec-l1-2: above 0",
        others_above_spectral,
        lambda number: number > 0,
    ),
    Question(
        "Even the closest is far above the VC dimension (6.3)",
        "log10 of the closest capacity minus that of vc: at least 2",
        norms_above_vc,
        lambda number: number >= _ORDERS,
    ),
    Question(
        "The bound keeps improving during training (6.2, Figure 2 right)",
        "log10 capacity of figure-2, last look minus first: below 0",
        change_in_training,
        lambda number: number < 0,
    ),
    Question(
        "Once the training error is almost zero, the generalization error keeps falling too (6.2, Figure 2 right)",
        f"test minus training error, last look minus the first with a training error below {FITTED:.0%}: below 0",
        change_after_fitting,
        lambda number: number < 0,
    ),
    Question(
        "True labels give a larger layer cushion than corrupted ones (6.2, Figure 2 left)",
        f"{_MEDIANS} in the 5th layer of AlexNet, true / shuffled: above 1",
        partial(fifth_layer_ratio, CUSHION),
        above_one,
    ),
    Question(
        "True labels give a smaller activation contraction (6.2, Figure 2 left)",
        f"{_MEDIANS} in the 5th layer of AlexNet, true / shuffled: below 1",
        partial(fifth_layer_ratio, CONTRACTION),
        below_one,
    ),
    Question(
        "The bound is consistent: smaller for true labels (6.2)",
        "log10 capacity of figure-2, true minus shuffled: below 0",
        true_minus_shuffled,
        lambda number: number < 0,
    ),
)
TABLE_1 = (
    Question(
        "Later layers are more compressible than earlier ones (6.3, Table 1)",
        "effective / actual parameters, median of the later half over that of the earlier half: below 1",
        later_against_earlier,
        below_one,
    ),
    Question(
        "Compression can be as low as 1 % in later layers (caption of Table 1)",
        f"effective / actual parameters in percent, least of the later half: below {_AS_LOW:g}",
        least_percent,
        lambda number: number < _AS_LOW,
    ),
)
CORRUPTED = (
    Question(
        "The layer cushion is larger with true labels, layer by layer (D.2, Figure A.6)",
        f"share of the layers of AlexNet whose {_MEDIANS} is larger with true labels: above 1/2",
        partial(true_share, CUSHION, True),
        lambda number: number > _MIDDLE,
    ),
    Question(
        "Activation contraction is smaller with true labels, layer by layer (D.2, Figure A.7)",
        f"share of the layers after the first whose {_MEDIANS} is smaller with true labels: above 1/2",
        partial(true_share, CONTRACTION, False),
        lambda number: number > _MIDDLE,
    ),
)


@dataclass(frozen=True)
class Plan:
    """about: what is shown; studies: the networks that are needed; questions: what is asked of them."""

    about: str
    studies: tuple[str, ...]
    questions: tuple[Question, ...]


EXPERIMENTS: Mapping[str, Plan] = MappingProxyType(
    {
        "arora-fig1": Plan("Figure 1: what is measured on a trained network against a random one", (VGG,), FIGURE_1),
        "arora-fig2": Plan(
            "Figure 2: bounds compared, a bound over training, true against shuffled labels",
            (VGG, ALEXNET, SHUFFLED),
            FIGURE_2,
        ),
        "arora-table1": Plan("Table 1: effective parameters of each layer", (VGG,), TABLE_1),
        "arora-corrupted": Plan("Figures A.6 and A.7: true against shuffled labels", (ALEXNET, SHUFFLED), CORRUPTED),
    }
)


def find_experiment(name: str) -> Plan:
    if not isinstance(name, str) or name not in EXPERIMENTS:
        raise one_of(name, EXPERIMENTS, option="experiment")
    return EXPERIMENTS[name]
