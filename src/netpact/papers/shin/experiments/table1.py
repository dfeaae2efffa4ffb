"""Table 1: accuracy before and after noise stands for the small weights of the final dense layer (section 6)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from functools import partial

from scipy.stats import spearmanr

from netpact.experiments import EXPERIMENTS, Experiment, Question
from netpact.papers.shin.noise_study import NoiseStudy
from netpact.papers.shin.presets import NETWORKS
from netpact.papers.shin.studying import PaperPlan
from netpact.papers.shin.table import PRUNED, RECIPE, SIGNED, VARIANTS
from netpact.reports.page import frame_table
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
    rows = []
    for name in NETWORKS:
        for study in found.chosen(name):
            row = study.row
            cells = [
                f"{_POINTS * one.mean:.2f} ± {_POINTS * one.std:.2f}"
                if variant != PRUNED
                else f"{_POINTS * one.mean:.2f}"
                for variant, one in row.variants.items()
            ]
            kept = row.variants[RECIPE]
            rows.append(
                (
                    f"{escape(row.network)}, seed {study.seed}",
                    escape(study.data),
                    f"{row.alpha:.2f} ± {row.alpha_stderr:.2f}",
                    f"{kept.kept:,} of {kept.weights:,}",
                    f"{_POINTS * row.original:.2f}",
                    *cells,
                )
            )
    heads = ("network", "data", "alpha-fit", "kept in magnitude", "before", *map(escape, VARIANTS))
    printed = [(name, f"{alpha:.2f}", f"{old:.2f}", f"{new:.2f}") for name, (alpha, old, new) in PRINTED.items()]
    return [
        frame_table(
            "Test accuracy in percent, threshold one standard deviation",
            heads,
            rows,
            note="Mean and standard deviation of ten draws. The alpha-fit is of a density w^-alpha, as in the paper's "
            "table; the paper's own text has w^-(alpha+1).",
        ),
        frame_table("As printed", ("network", "alpha-fit", "before", "after"), printed),
    ]


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
