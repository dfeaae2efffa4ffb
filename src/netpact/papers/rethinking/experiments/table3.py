"""Table 3: test accuracy of ResNeXt and ShuffleNet v2 against the expansion ratio t = 1, 2, 4 (A.5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, JointQuestion, Panel, Plan, Question
from netpact.papers.rethinking.ablation import (
    PublishedRatio,
    RatioStudy,
    deviations_below,
    parameter_share,
    show_ratios,
    study_ratio,
    worst_case_below,
)
from netpact.papers.rethinking.ablation_presets import RATIOS, RESNEXT, SHUFFLENET, TABLE_3, name_network
from netpact.papers.rethinking.presets import PAPER

_NAMES = {RESNEXT: "ResNeXt", SHUFFLENET: "ShuffleNet v2"}
# As printed, of SVHN.
_PRINTED: Mapping[str, Mapping[int, PublishedRatio]] = {
    RESNEXT: {
        1: PublishedRatio(96.20, 0.05, 1.45),
        2: PublishedRatio(96.25, 0.07, 2.13),
        4: PublishedRatio(96.20, 0.14, 4.44),
    },
    SHUFFLENET: {
        1: PublishedRatio(95.93, 0.05, 1.33),
        2: PublishedRatio(96.08, 0.08, 1.67),
        4: PublishedRatio(96.03, 0.16, 3.84),
    },
}


def _show(found: Experiment) -> list[Panel | str]:
    return [part for family, words in _NAMES.items() for part in show_ratios(found, family, words, _PRINTED[family])]


def _questions(family: str, words: str) -> tuple[Question | JointQuestion, ...]:
    printed = _PRINTED[family]
    return (
        JointQuestion(
            f"The test accuracy of t = 1 is comparable to that of t = 2 or 4 (A.5.2): {words}",
            "standard deviations by which the mean test accuracy of t = 1 is below the better of t = 2 and 4: <= 1",
            partial(deviations_below, family, (2, 4)),
        ),
        JointQuestion(
            f"and so in the worst case (A.5.2, Table 3): {words}",
            "points by which the worst case of t = 1 is below the best worst case of t = 2 and 4: <= 2",
            partial(worst_case_below, family),
            published=max(printed[2].accuracy, printed[4].accuracy) - printed[1].accuracy,
        ),
        # "By a lot": at least half of them.
        Question(
            f"The number of parameters is reduced by a lot (A.5.2, Table 3): {words}",
            "parameters, t = 1 over t = 4: <= 0.5",
            partial(parameter_share, family, 4),
            published=printed[1].million_parameters / printed[4].million_parameters,
        ),
    )


EXPERIMENTS.add(
    Plan(
        name="rethinking-table3",
        title="Table 3: test accuracy of ResNeXt and ShuffleNet v2 against the expansion ratio",
        paper=PAPER,
        presets=TABLE_3,
        studies=tuple(name_network(family, ratio) for family in _NAMES for ratio in RATIOS[family]),
        task=study_ratio,
        record=RatioStudy,
        questions=tuple(question for family, words in _NAMES.items() for question in _questions(family, words)),
        show=_show,
    )
)
