"""Table 1: accuracy before and after noise stands for the small weights of the final dense layer (section 6)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from functools import partial

from scipy.stats import spearmanr

from netpact.experiments import EXPERIMENTS, Experiment, Question
from netpact.papers.shin.noise_study import NoiseStudy
from netpact.papers.shin.presets import NETWORKS
from netpact.papers.shin.repeats import Repeats
from netpact.papers.shin.studying import PaperPlan
from netpact.papers.shin.table import PRUNED, RECIPE, SIGNED, THEORY
from netpact.reports.frame import frame_table
from netpact.reports.text import escape

Seeded = Mapping[str, NoiseStudy]  # the networks of one seed
_POINTS = 100
# As printed: alpha of the fit, accuracy before and after, in percent.
PRINTED: Mapping[str, tuple[float, float, float]] = {
    "densenet40_k12_cifar10": (2.84, 94.46, 94.26),
    "resnet20_cifar10": (3.22, 93.90, 89.19),
    "resnet56_cifar10": (3.02, 95.32, 94.74),
    "resnet110_cifar10": (2.98, 96.26, 95.63),
    "resnet164bn_cifar10": (4.65, 96.24, 95.78),
    "resnet272bn_cifar10": (2.89, 96.63, 96.51),
    "densenet40_k12_svhn": (1.39, 96.99, 96.99),
    "xdensenet40_2_k24_bc_svhn": (2.99, 97.08, 96.97),
    "resnet20_svhn": (3.34, 96.60, 94.60),
    "resnet56_svhn": (2.63, 97.19, 96.58),
    "resnet110_svhn": (2.33, 97.48, 97.16),
    "pyramidnet110_a48_svhn": (3.64, 97.56, 97.28),
}
_HEADS = {RECIPE: "in magnitude", SIGNED: "signed", THEORY: "sqrt(t) G + B", PRUNED: "no noise"}
_LOST = [before - after for _, before, after in PRINTED.values()]


def _points_lost(variant: str, one: Seeded) -> list[float]:
    return [_POINTS * study.row.variants[variant].lost for study in one.values()]


def _most_lost(variant: str, one: Seeded) -> float:
    return max(_points_lost(variant, one))


def _correlation(one: Seeded) -> float:
    alphas = [study.row.alpha for study in one.values()]
    return float(spearmanr(alphas, _points_lost(RECIPE, one)).statistic)


def _noise_gains(one: Seeded) -> float:
    pairs = zip(_points_lost(PRUNED, one), _points_lost(RECIPE, one), strict=True)
    return statistics.fmean(zeros - noise for zeros, noise in pairs)


def _show(found: Experiment) -> list[str]:
    rows = [_row(study) for name in NETWORKS for study in found.chosen(name)]
    heads = ("network", "alpha-fit", "kept", "before", *_HEADS.values())
    printed = [(name, f"{alpha:.2f}", f"{old:.2f}", f"{new:.2f}") for name, (alpha, old, new) in PRINTED.items()]
    return [
        frame_table(
            "Test accuracy in percent, threshold one standard deviation",
            heads,
            rows,
            note="Mean and standard deviation of ten draws. Kept: weights compared in magnitude; signed: with their "
            "sign, as printed. The alpha-fit is of a density w^-alpha, as in the paper's table; the paper's text has "
            "w^-(alpha+1).",
        ),
        frame_table("As printed", ("network", "alpha-fit", "before", "after"), printed),
    ]


def _row(study: NoiseStudy) -> tuple[str, ...]:
    row = study.row
    kept = row.variants[RECIPE]
    return (
        escape(f"{study.study}, seed {study.seed}"),
        f"{row.alpha:.2f} ± {row.alpha_stderr:.2f}",
        f"{kept.kept / kept.weights:.0%}",
        f"{_POINTS * row.original:.1f}",
        # By name: stored records have another order.
        *(_mean(row.variants[variant], noise=variant != PRUNED) for variant in _HEADS),
    )


def _mean(one: Repeats, *, noise: bool) -> str:
    return f"{_POINTS * one.mean:.1f}" + (f" ± {_POINTS * one.std:.1f}" if noise else "")


EXPERIMENTS.add(
    PaperPlan(
        name="shin-table1",
        title="Table 1: the final dense layer's small weights replaced by noise",
        studies=NETWORKS,
        questions=(
            Question(
                "Compressing the final dense layer leaves a comparable accuracy (section 6)",
                "points of test accuracy lost, entries compared in magnitude, most of a network: <= 5",
                partial(_most_lost, RECIPE),
                published=max(_LOST),
            ),
            Question(
                "The same, entries compared with their sign (appendix E, as printed)",
                "points of test accuracy lost, signed, most of a network: <= 5",
                partial(_most_lost, SIGNED),
                published=max(_LOST),
            ),
            Question(
                "A smaller alpha loses less (section 5.2: resilient classification)",
                "rank correlation over the networks of alpha and points lost: > 0",
                _correlation,
                published=float(spearmanr([alpha for alpha, _, _ in PRINTED.values()], _LOST).statistic),
            ),
            # Not in the paper: whether the noise has a part in it.
            Question(
                "Noise in the place of small weights keeps more accuracy than zeros (not in the paper)",
                "points of test accuracy gained by noise, mean over the networks: > 0",
                _noise_gains,
            ),
        ),
        show=_show,
    )
)
