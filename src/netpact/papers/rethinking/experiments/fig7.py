"""Figure 7: CP networks of rank R = 8 with K = 8 to 32 kernels (A.5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Plan, Question
from netpact.papers.rethinking.presets import COUNTS, KERNELS, PAPER, name_kernels
from netpact.papers.rethinking.simulation.redundancy import KernelStudy, simulate_kernels
from netpact.reports.frame import frame_table

_RATIO = "K = 32 over K = 8, at the smallest sample size"


def _grows(name: str, one: Mapping[str, KernelStudy]) -> float:
    few, many = (one[name_kernels(kernels)].points[0] for kernels in (COUNTS[0], COUNTS[-1]))
    return float(getattr(many, name) / getattr(few, name))


def _apart(one: Mapping[str, KernelStudy]) -> float:
    return abs(_grows("squares_prediction", one) - 1)


def _show(found: Experiment) -> list[str]:
    rows = []
    for kernels in COUNTS:
        for study in found.chosen(name_kernels(kernels)):
            for one in study.points:
                numbers = (one.squares, one.squares_prediction, one.descent, one.descent_prediction)
                told = (f"{study.parameters:,}", f"{one.samples:,}")
                rows.append(
                    (
                        f"K = {kernels}, seed {study.seed}",
                        *told,
                        *(f"{number:.4g}" for number in numbers),
                        f"{one.steps:.0f}",
                    )
                )
    heads = ("network", "parameters", "samples", "squares, W", "prediction", "descent, W", "prediction", "steps")
    note = "Least squares, and gradient descent until it stops: |W^ - W*|_F and the prediction error of each."
    return [frame_table("Errors of the estimates, means over training sets", heads, rows, note=note)]


EXPERIMENTS.add(
    Plan(
        name="rethinking-fig7",
        title="Figure 7: CP networks of rank 8 with more and more kernels",
        paper=PAPER,
        presets=KERNELS,
        studies=tuple(map(name_kernels, COUNTS)),
        task=simulate_kernels,
        record=KernelStudy,
        questions=(
            Question(
                "The estimation error increases with K (A.5.1): gradient descent, stopped as in the paper",
                f"|W^ - W*|_F, {_RATIO}: > 1",
                partial(_grows, "descent"),
            ),
            Question(
                "The same of the prediction error",
                f"prediction error, {_RATIO}: > 1",
                partial(_grows, "descent_prediction"),
            ),
            Question(
                "The sample complexity depends on R and not on K (Theorem 2, Corollary 1): least squares",
                f"distance from 1 of the prediction error, {_RATIO}: < 0.15",
                _apart,
            ),
        ),
        show=_show,
    )
)
