"""Figure 2: the bound beside that of Arora et al. 2018, and over training (section 5.1, appendix A.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.experiments.over_training import follow_test_error, panel_over_training
from netpact.papers.li.bound_history import BoundPoint
from netpact.papers.li.comparing import Seeded
from netpact.papers.li.presets import TRAINED
from netpact.papers.li.published import TABLE_4
from netpact.papers.li.study import TensorStudy
from netpact.papers.li.studying import PaperPlan
from netpact.reports.frame import frame_table
from netpact.reports.text import count

_FITTED = 0.05  # "the training error is almost zero"
# A.2: a bound of "around 12" for CP-VGG-16, of 14.7 million parameters and 50,000 samples.
_PRINTED_BOUND = 12 / math.sqrt(14.7e6 / 50_000)
Number = Callable[[BoundPoint], float]


def _valid(point: BoundPoint) -> float:
    return point.bound(point.valid)


def _printed(point: BoundPoint) -> float:
    return point.bound(point.printed)


def _above_ours(one: Seeded) -> float:
    arora, last = one[TRAINED].arora, one[TRAINED].history[-1]
    return math.inf if arora is None else arora - math.log10(last.valid)


def _follows(number: Number, one: Seeded) -> float:
    points = one[TRAINED].history
    return follow_test_error(points, [number(point) for point in points])


def _after_fitting(number: Number, one: Seeded) -> float:
    fitted = [number(point) for point in one[TRAINED].history if point.train_error < _FITTED]
    return fitted[-1] - fitted[0] if len(fitted) > 1 else math.nan


def _against_counting(one: Seeded) -> float:
    last = one[TRAINED].history[-1]
    return _valid(last) / last.bound(one[TRAINED].parameters)


def _show(found: Experiment) -> list[Panel | str]:
    studies: tuple[TensorStudy, ...] = found.chosen(TRAINED)
    rows = [
        (
            f"seed {one.seed}",
            count(one.parameters),
            count(one.history[-1].valid),
            count(one.history[-1].printed),
            "infinite" if one.arora is None else f"10^{one.arora:.2f}",
        )
        for one in studies
    ]
    heads = (studies[0].model, "parameters", "Theorem 4.5, valid", "as printed", "Arora et al. 2018")
    return [frame_table("Effective parameters", heads, rows), _panel(studies[0])]


def _panel(study: TensorStudy) -> Panel:
    bounds = {
        name: [number(point) for point in study.history]
        for name, number in (("valid", _valid), ("as printed", _printed))
    }
    text = f"sqrt(effective parameters / samples) of {study.model}, rescaled to the range of the test error. "
    return panel_over_training(study.history, bounds, f"{text}Seed {study.seed}.")


EXPERIMENTS.add(
    PaperPlan(
        name="li-fig2",
        title="Figure 2: the bound beside that of Arora et al. 2018, and over training",
        studies=(TRAINED,),
        questions=(
            Question(
                "The effective number of parameters is smaller than by Arora et al. 2018 (5.1, Figure 2a)",
                "log10 of the effective parameters of all layers, Arora et al. minus the valid form: > 0",
                _above_ours,
                published=math.log10(sum(one.arora for one in TABLE_4) / sum(one.ours for one in TABLE_4)),
            ),
            Question(
                "The bound is below counting parameters (A.2)",
                "bound of the valid form / sqrt(parameters / samples) after training: < 1",
                _against_counting,
                published=_PRINTED_BOUND,
            ),
            Question(
                "The bound follows the test error over training (5.1, Figure 2b): ranks for which the lemma holds",
                "correlation of bound and test error over the epochs looked at: > 0.5",
                partial(_follows, _valid),
            ),
            Question(
                "The bound follows the test error over training (5.1, Figure 2b): ranks as printed",
                "correlation of bound and test error over the epochs looked at: > 0.5",
                partial(_follows, _printed),
            ),
            Question(
                "It keeps falling once the training error is almost zero (5.1, Figure 2b): ranks as printed",
                f"bound, last look minus the first with a training error below {_FITTED:.0%}: < 0",
                partial(_after_fitting, _printed),
            ),
        ),
        show=_show,
    )
)
