"""Table 2: test accuracy of bottleneck networks against the expansion ratio t = 1, 4, 8, 16 (section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from netpact.experiments import EXPERIMENTS, Experiment, JointQuestion, Panel, Plan, Question
from netpact.papers.rethinking.ablation import (
    PublishedRatio,
    RatioStudy,
    Seeded,
    deviations_below,
    parameter_share,
    show_ratios,
    study_ratio,
    worst_case_below,
)
from netpact.papers.rethinking.ablation_presets import RATIOS, RESNET, TABLE_2, name_network
from netpact.papers.rethinking.presets import PAPER

# As printed, of CIFAR-10.
_PRINTED = {
    1: PublishedRatio(93.53, 0.17, 5.56),
    4: PublishedRatio(93.10, 0.26, 8.55),
    8: PublishedRatio(93.59, 0.43, 14.15),
    16: PublishedRatio(94.03, 0.87, 29.28),
}


def _not_rising(numbers: Sequence[float]) -> float:
    """The share of steps to the next number at which they do not rise."""
    steps = [after <= before for before, after in pairwise(numbers)]
    return sum(steps) / len(steps)


def _steps(one: Seeded) -> float:
    return _not_rising([one[name_network(RESNET, ratio)].test_accuracy for ratio in RATIOS[RESNET]])


def _show(found: Experiment) -> list[Panel | str]:
    return show_ratios(found, RESNET, "Bottleneck networks", _PRINTED)


EXPERIMENTS.add(
    Plan(
        name="rethinking-table2",
        title="Table 2: test accuracy of bottleneck networks against the expansion ratio",
        paper=PAPER,
        presets=TABLE_2,
        studies=tuple(name_network(RESNET, ratio) for ratio in RATIOS[RESNET]),
        task=study_ratio,
        record=RatioStudy,
        questions=(
            JointQuestion(
                "The test accuracy of t = 1 is comparable to that of t = 4 (4.2, Results)",
                "standard deviations by which the mean test accuracy of t = 1 is below that of t = 4: <= 1",
                partial(deviations_below, RESNET, (4,)),
            ),
            Question(
                "with fewer parameters (Table 2)",
                "parameters, t = 1 over t = 4: <= 0.65",
                partial(parameter_share, RESNET, 4),
                published=_PRINTED[1].million_parameters / _PRINTED[4].million_parameters,
            ),
            JointQuestion(
                "The accuracy in the worst case remains roughly comparable for all t (4.2, Results)",
                "points by which the worst case of t = 1 is below the best worst case of t = 4, 8, 16: <= 2",
                partial(worst_case_below, RESNET),
                published=max(_PRINTED[ratio].accuracy for ratio in (4, 8, 16)) - _PRINTED[1].accuracy,
            ),
            Question(
                "A larger t does not necessarily give a higher test accuracy (4.2)",
                "share of the three steps to the next larger t that do not raise it: > 0",
                _steps,
                published=_not_rising([row.accuracy for row in _PRINTED.values()]),
            ),
        ),
        show=_show,
    )
)
