"""Figure 2: the bound over training (appendix F)."""

from __future__ import annotations

from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.experiments.over_training import follow_test_error, panel_over_training
from netpact.papers.guha.comparing import Seeded
from netpact.papers.guha.presets import COMPARED, MNIST
from netpact.papers.guha.study import MEASURED, PRINTED, BoundStudy
from netpact.papers.guha.studying import PaperPlan


def follows(bound: str, one: Seeded) -> float:
    points = one[COMPARED].history
    return follow_test_error(points, [point.bounds[bound] for point in points])


def change(bound: str, one: Seeded) -> float:
    """From the first look to the last, in natural logarithms."""
    points = one[COMPARED].history
    return points[-1].bounds[bound] - points[0].bounds[bound]


def _show(found: Experiment) -> list[Panel]:
    study: BoundStudy = found.chosen(COMPARED)[0]
    bounds = {
        words: [point.bounds[name] for point in study.history]
        for name, words in ((PRINTED, "as printed"), (MEASURED, "pruned on the samples"))
    }
    text = (
        f"ln of Theorem 5.2 of {study.model}, rescaled to the range of the test error, as in the paper. "
        f"As printed it moves by {change(PRINTED, {COMPARED: study}):.2f}, pruned on the samples by "
        f"{change(MEASURED, {COMPARED: study}):.2f}. Seed {study.seed}."
    )
    return [panel_over_training(study.history, bounds, text)]


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
