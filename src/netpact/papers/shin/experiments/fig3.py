"""Figure 3: stable rank against alpha over the layers of several networks, with two lines through them (5.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.papers.shin.stable_ranks import StableRanks, compare_ranks
from netpact.papers.shin.tail_presets import FAMILIES
from netpact.papers.shin.tail_study import TailPlan, TailStudy
from netpact.reports.charts.figure import Figure
from netpact.reports.frame import frame_table
from netpact.reports.text import escape

Seeded = Mapping[str, TailStudy]


def _ranks(one: Seeded) -> StableRanks:
    return compare_ranks((name, layer) for name, study in one.items() for layer in study.layers)


def _correlation(final: bool, one: Seeded) -> float:
    return _ranks(one).correlation(final=final)


def _second_line(one: Seeded) -> float:
    return _ranks(one).second_line


def _smallest_slope(one: Seeded) -> float:
    two = _ranks(one).two
    return math.nan if two is None else min(line.slope for line in two.lines)


def _power_laws(one: Seeded) -> float:
    told = [layer.fits for study in one.values() for layer in study.layers if layer.fits is not None]
    return sum(told) / len(told) if told else math.nan


def _heavier_at_the_end(one: Seeded) -> float:
    """The share of the networks whose last layer has a smaller alpha than the first one."""
    ends = [(study.layers[0].alpha, study.layers[-1].alpha) for study in one.values()]
    told = [last < first for first, last in ends if first is not None and last is not None]
    return sum(told) / len(told) if told else math.nan


def _show(found: Experiment) -> list[Panel | str]:
    parts: list[Panel | str] = []
    for seed in found.seeds:
        ranks = _ranks({one.study: one for one in found.studies if one.seed == seed})  # type: ignore[misc]
        words = (
            f"{len(ranks.points)} layers with alpha up to {ranks.most_alpha:g}; {ranks.lighter} have lighter tails "
            "and are left out. The lines are a mixture of two regressions by expectation maximization."
        )
        if ranks.points:
            draw = partial(_draw, ranks, seed)
            parts.append(Panel(f"Stable rank against alpha, seed {seed}", words, draw))
    rows = [
        (
            escape(f"{study.model} {layer.name}, seed {study.seed}"),
            "x".join(map(str, layer.shape)),
            _told(layer.alpha),
            "–" if layer.tail_count is None else f"{layer.tail_count:,}",
            {True: "yes", False: "no", None: "–"}[layer.fits],
            _told(layer.eigenvalue_alpha),
            _told(layer.stable_rank),
        )
        for study in found.studies
        if study.seed == found.seeds[0] and isinstance(study, TailStudy)
        for layer in study.layers
    ]
    heads = ("layer", "shape", "alpha", "in the tail", "power law", "alpha of eigenvalues", "stable rank")
    parts.append(frame_table("Layers of the first seed", heads, rows))
    return parts


def _draw(ranks: StableRanks, seed: int, width: int) -> Figure:
    return ranks.figure(width=width, name=f"stable-rank-{seed}")


def _told(number: float | None) -> str:
    return "–" if number is None else f"{number:.3g}"


EXPERIMENTS.add(
    TailPlan(
        name="shin-fig3",
        title="Figure 3: stable rank against alpha",
        studies=FAMILIES,
        questions=(
            Question(
                "Of final layers, a smaller alpha goes with a smaller stable rank (5.3, Figure 3)",
                "rank correlation over the final layers: > 0",
                partial(_correlation, True),
            ),
            Question(
                "The same of all layers (caption of Figure 3)",
                "rank correlation over all layers with alpha up to 10: > 0",
                partial(_correlation, False),
            ),
            Question(
                "The layers are in two groups, each on a line (Figure 3)",
                # Very strong evidence, by Kass and Raftery 1995: of few points, chance alone may give 5.
                "BIC of one line less that of two: > 10",
                _second_line,
            ),
            Question(
                "On both lines the stable rank rises with alpha (Figure 3)",
                "smaller slope of the two lines: > 0",
                _smallest_slope,
            ),
            Question(
                "Trained weights are distributed as a power law (3.1, 3.2: assumed)",
                "share of the layers in which nothing speaks against a power law: > 0.5",
                _power_laws,
            ),
            Question(
                "Later layers are more heavy-tailed (5.2, from Fortuin et al. 2021)",
                "share of the networks whose last layer has a smaller alpha than the first: > 0.5",
                _heavier_at_the_end,
            ),
        ),
        show=_show,
    )
)
