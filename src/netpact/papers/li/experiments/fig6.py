"""Figure 6: test accuracy of co-teaching, with and without CP layers, against epochs (appendix A.4)."""

from __future__ import annotations

from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.papers.li.noise_comparing import Seeded, learning_curve
from netpact.papers.li.noise_presets import FIFTH, HALF, PAIR, taught, taught_cp
from netpact.papers.li.noise_studying import NoiseStudy, TaughtPlan
from netpact.reports.charts.curves import draw_curves

_TOLD = {PAIR: "pair flip 45 %", HALF: "symmetric 50 %", FIFTH: "symmetric 20 %"}


def _loss_after_best(noise: str, one: Seeded) -> float:
    """How far the last epoch is below the best one, in points."""
    curve = one[taught(noise)].curve
    return 100 * (max(curve) - curve[-1])


def _dominated(noise: str, one: Seeded) -> float:
    """The share of the epochs after the best one of the dense networks in which CP layers are not below them."""
    dense, factored = one[taught(noise)], one[taught_cp(noise)]
    after = range(dense.best_epoch - 1, len(dense.curve))
    return sum(factored.curve[place] >= dense.curve[place] for place in after) / len(after)


def _panel(found: Experiment, noise: str) -> Panel:
    dense: NoiseStudy = found.chosen(taught(noise))[0]
    factored: NoiseStudy = found.chosen(taught_cp(noise))[0]
    curves = [learning_curve("co-teaching", dense), learning_curve("co-teaching, CP layers", factored)]
    heading = f"Test accuracy over training, {_TOLD[noise]}"
    return Panel(
        heading,
        f"{dense.model} and {factored.model}, means of both networks, seed {dense.seed}.",
        lambda width: draw_curves(
            curves,
            name=f"accuracy-over-training-{noise}",
            title=heading,
            x_title="epoch",
            y_title="test accuracy",
            width=width,
        ),
    )


def _show(found: Experiment) -> list[Panel]:
    return [_panel(found, noise) for noise in _TOLD]


EXPERIMENTS.add(
    TaughtPlan(
        name="li-fig6",
        title="Figure 6: test accuracy of co-teaching against epochs",
        studies=tuple(study(noise) for noise in _TOLD for study in (taught, taught_cp)),
        questions=(
            *(
                Question(
                    f"Test accuracy is best early and deteriorates as noise is learned by heart, {_TOLD[noise]} (A.4)",
                    "co-teaching with dense layers, best epoch minus last one, in points: > 1",
                    partial(_loss_after_best, noise),
                )
                for noise in (PAIR, HALF)
            ),
            *(
                Question(
                    f"From there on CP layers are always above, {_TOLD[noise]} (A.4, Figure 6)",
                    "share of the epochs from the best one on in which CP layers are not below: >= 1",
                    partial(_dominated, noise),
                )
                for noise in (PAIR, HALF)
            ),
        ),
        show=_show,
    )
)
