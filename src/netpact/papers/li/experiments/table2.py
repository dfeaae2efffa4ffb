"""Table 2: accuracies with and without CP layers of as many parameters (section 5.2)."""

from __future__ import annotations

from functools import partial

from netpact.core.percent import percent
from netpact.experiments import EXPERIMENTS, Experiment, Question
from netpact.papers.li.comparing import Seeded
from netpact.papers.li.presets import CP_VGG, CP_WRN, VGG, WRN
from netpact.papers.li.study import TensorStudy
from netpact.papers.li.studying import PaperPlan
from netpact.reports.frame import frame_table
from netpact.reports.text import count, escape

_NETWORKS = (CP_VGG, VGG, CP_WRN, WRN)
# As printed, of CIFAR-10: all four fit their training samples.
_PRINTED = {CP_VGG: 93.68, VGG: 92.64, CP_WRN: 95.09, WRN: 95.83}
_POINTS = 100


def _gain(cp: str, dense: str, one: Seeded) -> float:
    return _POINTS * (one[cp].test_accuracy - one[dense].test_accuracy)


def _fit(cp: str, dense: str, one: Seeded) -> float:
    return _POINTS * (one[cp].train_accuracy - one[dense].train_accuracy)


def _sizes(cp: str, dense: str, one: Seeded) -> float:
    return one[cp].parameters / one[dense].parameters


def _show(found: Experiment) -> list[str]:
    rows = []
    for name in _NETWORKS:
        studies: tuple[TensorStudy, ...] = found.chosen(name)
        trained = ", ".join(percent(one.train_accuracy) for one in studies)
        tested = ", ".join(percent(one.test_accuracy) for one in studies)
        row = (escape(studies[0].model), count(studies[0].parameters), trained, tested, f"{_PRINTED[name]:.2f} %")
        rows.append(row)
    heads = ("network", "parameters", "training accuracy", "test accuracy", "test accuracy in the paper")
    return [frame_table("Accuracies, each seed", heads, rows)]


def _questions(cp: str, dense: str, names: str) -> tuple[Question, ...]:
    return (
        # "Competitive": at most two points worse.
        Question(
            f"CP layers keep the test accuracy competitive: {names} (5.2, Table 2)",
            f"test accuracy in points, {names}: >= -2",
            partial(_gain, cp, dense),
            published=_PRINTED[cp] - _PRINTED[dense],
        ),
        Question(
            f"and the training accuracy: {names} (5.2, Table 2)",
            f"training accuracy in points, {names}: >= -2",
            partial(_fit, cp, dense),
            published=0,
        ),
        Question(
            f"with as many parameters: {names} (5.2)",
            f"number of parameters, quotient of {names}: <= 1",
            partial(_sizes, cp, dense),
        ),
    )


EXPERIMENTS.add(
    PaperPlan(
        name="li-table2",
        title="Table 2: accuracies with and without CP layers",
        studies=_NETWORKS,
        questions=(*_questions(CP_VGG, VGG, "CP-VGG minus VGG"), *_questions(CP_WRN, WRN, "CP-WRN minus WRN")),
        show=_show,
    )
)
