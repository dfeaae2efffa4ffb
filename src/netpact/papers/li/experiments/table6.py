"""Table 6, which is Table 1 too: plain training, co-teaching, and co-teaching with CP layers (appendix A.4).

F-correction and MentorNet are quoted from the paper, which quotes Han et al. 2018; they are not run.
"""

from __future__ import annotations

from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Question
from netpact.papers.li.noise_comparing import Seeded, cells, points
from netpact.papers.li.noise_presets import FIFTH, HALF, PAIR, plain, taught, taught_cp
from netpact.papers.li.noise_studying import TaughtPlan
from netpact.reports.frame import frame_table

# As printed, in percent: baseline, F-correction, MentorNet, co-teaching, co-teaching + CPL.
_PRINTED = {
    PAIR: (56.52, 0.24, 80.88, 87.63, 92.43),
    HALF: (66.05, 79.61, 90.05, 91.32, 94.70),
    FIFTH: (94.05, 98.80, 96.70, 97.25, 97.91),
}
_TOLD = {PAIR: "pair flip 45 %", HALF: "symmetric 50 %", FIFTH: "symmetric 20 %"}
_LOW = 2.0  # points: a "low effect"; the paper's own is 0.66


def _teaching_gain(noise: str, one: Seeded) -> float:
    return points(one, taught(noise), plain(noise))


def _cp_gain(noise: str, one: Seeded) -> float:
    return points(one, taught_cp(noise), taught(noise))


def _low_effect(one: Seeded) -> float:
    return abs(_cp_gain(FIFTH, one))


def _show(found: Experiment) -> list[str]:
    rows = []
    for noise, (baseline, correction, mentor, teaching, with_cp) in _PRINTED.items():
        not_run = ["not run"] * len(found.seeds)
        rows += [
            (f"{_TOLD[noise]}: plain training", f"{baseline:.2f}", *cells(found, plain(noise))),
            (f"{_TOLD[noise]}: F-correction", f"{correction:.2f}", *not_run),
            (f"{_TOLD[noise]}: MentorNet", f"{mentor:.2f}", *not_run),
            (f"{_TOLD[noise]}: co-teaching", f"{teaching:.2f}", *cells(found, taught(noise))),
            (f"{_TOLD[noise]}: co-teaching, CP layers", f"{with_cp:.2f}", *cells(found, taught_cp(noise))),
        ]
    heads = ("noise, method", "paper, MNIST", *(f"seed {seed}" for seed in found.seeds))
    note = "F-correction and MentorNet are quoted, not run. Symmetric noise moves a label to the other classes alike."
    return [
        frame_table("Test accuracy in percent, mean of the last epochs and of both networks", heads, rows, note=note)
    ]


EXPERIMENTS.add(
    TaughtPlan(
        name="li-table6",
        title="Table 6: plain training, co-teaching, co-teaching with CP layers",
        studies=tuple(study(noise) for noise in _PRINTED for study in (plain, taught, taught_cp)),
        questions=(
            *(
                Question(
                    f"Co-teaching beats plain training, {_TOLD[noise]} (Table 6)",
                    "test accuracy of co-teaching minus that of plain training, in points: > 0",
                    partial(_teaching_gain, noise),
                    published=round(_PRINTED[noise][3] - _PRINTED[noise][0], 2),
                )
                for noise in _PRINTED
            ),
            *(
                Question(
                    f"CP layers improve co-teaching, {_TOLD[noise]} (Table 6)",
                    "test accuracy with CP layers minus that without, in points: > 0",
                    partial(_cp_gain, noise),
                    published=round(_PRINTED[noise][4] - _PRINTED[noise][3], 2),
                )
                for noise in (PAIR, HALF)
            ),
            Question(
                "At a low rate of noise CP layers have a low effect (A.4)",
                f"size of the difference that CP layers make, symmetric 20 %, in points: <= {_LOW:g}",
                _low_effect,
                published=round(_PRINTED[FIFTH][4] - _PRINTED[FIFTH][3], 2),
            ),
        ),
        show=_show,
    )
)
