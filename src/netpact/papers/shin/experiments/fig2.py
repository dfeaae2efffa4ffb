"""Figure 2: the chance of enough entries in a bracket, over alpha and the bracket (section 5.2, equations 13 to 16)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

import numpy as np

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.papers.shin.brackets import Contour, bracket_share, contour, exact_share
from netpact.papers.shin.noise_study import NoiseStudy
from netpact.papers.shin.presets import NETWORKS
from netpact.papers.shin.studying import PaperPlan
from netpact.reports.charts.figure import Figure
from netpact.reports.charts.tiles import draw_tiles
from netpact.reports.frame import frame_table
from netpact.reports.text import escape

Seeded = Mapping[str, NoiseStudy]
SCALE, TOP, ENTRIES = 1.3, 5, 64  # the caption
_LIGHT = 1.5  # from here on (12) is about a tail that hardly exists


@cache
def printed_contour() -> Contour:
    return contour(scale=SCALE, top=TOP, entries=ENTRIES)


def _bound_minus_chance(_: Seeded) -> float:
    found = printed_contour()
    return float((found.bound - found.chance).max())


def _falling(_: Seeded) -> float:
    """Brackets in which the chance falls, or stays, as alpha grows over the whole figure."""
    steps = np.diff(printed_contour().chance, axis=0)
    return float(np.mean((steps <= 1e-12).all(axis=0)))


def _worst_share(_: Seeded) -> float:
    alphas = [alpha for alpha in printed_contour().alphas if alpha < _LIGHT]
    ratios = [
        bracket_share(alpha, place, scale=SCALE) / exact_share(alpha, place, scale=SCALE)
        for alpha in map(float, alphas)
        for place in range(TOP + 1)
    ]
    return max(max(ratio, 1 / ratio) for ratio in ratios)


def _largest_scale(one: Seeded) -> float:
    return max(study.last.scale for study in one.values())


def _most_missed(one: Seeded) -> float:
    return max(study.last.missed for study in one.values())


def _panel(heading: str, words: str, name: str, numbers: Callable[[], np.ndarray]) -> Panel:
    return Panel(heading, words, partial(_draw, heading, name, numbers))


def _draw(heading: str, name: str, numbers: Callable[[], np.ndarray], width: int) -> Figure:
    found = printed_contour()
    return draw_tiles(
        numbers().T.tolist(),
        columns=found.alphas.tolist(),
        rows=found.places.tolist(),
        name=name,
        title=heading,
        x_title="alpha",
        y_title="bracket i",
        width=width,
    )


def _show(found: Experiment) -> list[Panel | str]:
    words = f"A row of {ENTRIES} entries has c^({TOP}-i) of them between c^i and c^(i+1), c = {SCALE}."
    rows = [
        (
            f"{escape(study.model)}, seed {study.seed}",
            escape(study.data),
            f"{study.last.entries:,}",
            f"{study.last.alpha:.2f}",
            f"{study.last.scale:.3g}",
            f"{study.last.missed:.1%}",
        )
        for name in NETWORKS
        for study in found.chosen(name)
    ]
    return [
        _panel("(16), as Figure 2", f"{words} An upper bound.", "bound", lambda: printed_contour().bound),
        _panel("The probability", f"{words} The share of (14).", "chance", lambda: printed_contour().chance),
        _panel("The probability, stable law", f"{words} Its own share.", "stable", lambda: printed_contour().stable),
        frame_table(
            "The final dense layer of the networks",
            ("network", "data", "entries", "alpha, stable", "scale c", "in no bracket"),
            rows,
            note="A stable law fitted to the entries. Brackets (13) begin at 1 and have positive entries only; for "
            "c < 1 the powers of c fall, and all brackets are empty.",
        ),
    ]


EXPERIMENTS.add(
    PaperPlan(
        name="shin-fig2",
        title="Figure 2: resilient classification, brackets of a stable matrix",
        studies=NETWORKS,
        questions=(
            Question(
                "The figure shows the probability (caption of Figure 2)",
                "largest difference between (16) and the probability: < 0.1",
                _bound_minus_chance,
            ),
            Question(
                "As alpha grows smaller there are more paths (section 5.2)",
                "share of the brackets whose probability falls all along with alpha: >= 1",
                _falling,
            ),
            Question(
                "(14) is the share of a bracket of a stable law (section 5.2)",
                f"share of (14) over the stable law's, or its inverse, largest for alpha < {_LIGHT}: < 1.25",
                _worst_share,
            ),
            Question(
                "c = 1.3 is that of a trained weight matrix (caption of Figure 2)",
                "scale of a stable law fitted to the final dense layer, largest of the networks: > 1",
                _largest_scale,
                published=SCALE,
            ),
            Question(
                "The brackets and D are all of W (13)",
                "share of the final layer's entries in no bracket, largest of the networks: <= 0",
                _most_missed,
            ),
        ),
        show=_show,
    )
)
