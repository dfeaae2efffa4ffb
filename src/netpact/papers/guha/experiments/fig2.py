"""Figure 2: the bound over training (appendix F)."""

from __future__ import annotations

import statistics
from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.monitoring.drawing import rescale
from netpact.papers.guha.comparing import Seeded
from netpact.papers.guha.presets import COMPARED, MNIST
from netpact.papers.guha.study import MEASURED, PRINTED, BoundStudy
from netpact.papers.guha.studying import PaperPlan
from netpact.reports.charts.curves import Curve, draw_curves


def follows(bound: str, one: Seeded) -> float:
    """Not a number where one of the two does not move at all."""
    points = one[COMPARED].history
    bounds, errors = [point.bounds[bound] for point in points], [point.test_error for point in points]
    if len(set(bounds)) < 2 or len(set(errors)) < 2:
        return float("nan")
    return statistics.correlation(bounds, errors)


def change(bound: str, one: Seeded) -> float:
    """From the first look to the last, in natural logarithms."""
    points = one[COMPARED].history
    return points[-1].bounds[bound] - points[0].bounds[bound]


def _show(found: Experiment) -> list[Panel]:
    study: BoundStudy = found.chosen(COMPARED)[0]
    points = study.history
    tests = [(float(point.epoch), point.test_error) for point in points]
    low, high = min(y for _, y in tests), max(y for _, y in tests)
    curves = [
        Curve("test error", tuple(tests)),
        Curve("training error", tuple((float(point.epoch), point.train_error) for point in points)),
        *(
            Curve(f"bound, {words}, rescaled", rescale([(float(p.epoch), p.bounds[name]) for p in points], low, high))
            for name, words in ((PRINTED, "as printed"), (MEASURED, "pruned on the samples"))
        ),
    ]
    return [
        Panel(
            "Bound over training",
            f"ln of Theorem 5.2 of {study.model}, rescaled to the range of the test error, as in the paper. "
            f"As printed it moves by {change(PRINTED, {COMPARED: study}):.2f}, pruned on the samples by "
            f"{change(MEASURED, {COMPARED: study}):.2f}. Seed {study.seed}.",
            lambda width: draw_curves(
                curves,
                name="bound-over-training",
                title="Bound over training",
                x_title="epoch",
                y_title="error",
                width=width,
            ),
        )
    ]


_FORMS = ((PRINTED, "Theorem 5.2 as printed"), (MEASURED, "pruned on the samples"))
EXPERIMENTS.add(
    PaperPlan(
        name="guha-fig2",
        title="Figure 2: the bound over training",
        presets=MNIST,
        studies=(COMPARED,),
        questions=(
            *(
                Question(
                    f"Our bound decreases over time as the margin increases (F, Figure 2): {words}",
                    "ln of the bound, last epoch minus first: < 0",
                    partial(change, name),
                )
                for name, words in _FORMS
            ),
            *(
                Question(
                    f"mimicking the true error (F, Figure 2): {words}",
                    "correlation of ln of the bound and test error over the epochs looked at: > 0.5",
                    partial(follows, name),
                )
                for name, words in _FORMS
            ),
        ),
        show=_show,
    )
)
