"""Table 1 and Figures 1a and 1c: bounds of 5-layer MLPs of growing width on MNIST (section 7, appendix F)."""

from __future__ import annotations

import math
from functools import partial

from netpact.experiments import EXPERIMENTS, Experiment, Panel, Question
from netpact.papers.guha.comparing import Seeded, bounds_table, gap, true_error
from netpact.papers.guha.presets import MNIST, NAMES
from netpact.papers.guha.published import BARTLETT_2017, NEYSHABUR_2015, NEYSHABUR_2017, OURS, TABLE_1, TRUE
from netpact.papers.guha.study import COUNTING, DENSE, LISTED, LISTED_MEASURED, MEASURED, PRINTED, BoundStudy
from netpact.papers.guha.studying import PaperPlan
from netpact.reports.charts.curves import Curve, draw_curves

_DRAWN = (BARTLETT_2017, PRINTED, MEASURED, COUNTING)  # four are what a figure can tell apart


def least_gap(above: str, below: str, one: Seeded) -> float:
    """Over the widths."""
    return min(gap(one[name], above, below) for name in NAMES)


def _growth(bound: str, one: Seeded) -> float:
    """From the narrowest network to the widest."""
    return one[NAMES[-1]].bounds[bound] - one[NAMES[0]].bounds[bound]


def _slower(bound: str, other: str, one: Seeded) -> float:
    return _growth(bound, one) - _growth(other, one)


def _least(bound: str, one: Seeded) -> float:
    return min(one[name].bounds[bound] for name in NAMES)


def _spread_of_errors(one: Seeded) -> float:
    found = [true_error(one[name]) for name in NAMES]
    return max(found) - min(found) if all(map(math.isfinite, found)) else math.nan


def _printed_gap(above: str, below: str) -> float:
    return min(high - low for high, low in zip(TABLE_1[above], TABLE_1[below], strict=True))


def _show(found: Experiment) -> list[Panel | str]:
    tables: list[Panel | str] = []
    for seed in found.seeds:
        chosen: list[tuple[str, BoundStudy]] = [
            (one.model.split("-")[0].split(":")[1], one)
            for name in NAMES
            for one in found.chosen(name)
            if one.seed == seed
        ]
        tables.append(bounds_table(f"Table 1, seed {seed}, by hidden dimension", chosen, TABLE_1))
        if seed == found.seeds[0]:
            tables.append(_panel(chosen))
    return tables


def _panel(chosen: list[tuple[str, BoundStudy]]) -> Panel:
    curves = [Curve(name, tuple((float(width), one.bounds[name]) for width, one in chosen)) for name in _DRAWN]
    return Panel(
        "Bounds by width (Figure 1c)",
        f"Natural logarithms of the bounds on the error. Seed {chosen[0][1].seed}.",
        lambda width: draw_curves(
            curves,
            name="bounds-by-width",
            title="Bounds by width",
            x_title="hidden dimension",
            y_title="ln of the bound",
            width=width,
        ),
    )


_OVER_WIDTHS = "natural logarithms, the least over the widths"
EXPERIMENTS.add(
    PaperPlan(
        name="guha-table1",
        title="Table 1, Figures 1a and 1c: bounds of MLPs of growing width on MNIST",
        presets=MNIST,
        studies=NAMES,
        questions=(
            *(
                Question(
                    f"Our bound is consistently better than that of Bartlett et al. 2017 (7, Figure 1c): {words}",
                    f"ln of Bartlett et al. minus ln of ours, {_OVER_WIDTHS}: > 0",
                    partial(least_gap, BARTLETT_2017, name),
                    published=_printed_gap(BARTLETT_2017, OURS),
                )
                for name, words in (
                    (PRINTED, "Theorem 5.2 as printed"),
                    (MEASURED, "pruned on the samples"),
                    (DENSE, "dense weights times log^2 p"),
                )
            ),
            Question(
                "The bound of Bartlett et al. 2017 is the closest (7): below that of Neyshabur et al. 2017",
                f"ln of Neyshabur et al. 2017 minus ln of Bartlett et al. 2017, {_OVER_WIDTHS}: > 0",
                partial(least_gap, NEYSHABUR_2017, BARTLETT_2017),
                published=_printed_gap(NEYSHABUR_2017, BARTLETT_2017),
            ),
            Question(
                "and below that of Neyshabur et al. 2015 (Table 1)",
                f"ln of Neyshabur et al. 2015 minus ln of Bartlett et al. 2017, {_OVER_WIDTHS}: > 0",
                partial(least_gap, NEYSHABUR_2015, BARTLETT_2017),
                published=_printed_gap(NEYSHABUR_2015, BARTLETT_2017),
            ),
            Question(
                "Our bound increases at a lesser rate with the hidden dimension (F): Theorem 5.2 as printed",
                "growth of ln from the narrowest to the widest, ours minus Bartlett et al.: < 0",
                partial(_slower, PRINTED, BARTLETT_2017),
                published=(TABLE_1[OURS][-1] - TABLE_1[OURS][0])
                - (TABLE_1[BARTLETT_2017][-1] - TABLE_1[BARTLETT_2017][0]),
            ),
            Question(
                "Our bound vastly improves on a trivial application of compression bounds, Lemma D.1 (5.4): as printed",
                f"ln of Lemma D.1 minus ln of Theorem 5.2, {_OVER_WIDTHS}: > 0",
                partial(least_gap, LISTED, PRINTED),
            ),
            Question(
                "Our bound vastly improves on a trivial application of compression bounds, Lemma D.1 (5.4): measured",
                f"ln of Lemma D.1 minus ln of Theorem 5.2, both pruned on the samples, {_OVER_WIDTHS}: > 0",
                partial(least_gap, LISTED_MEASURED, MEASURED),
            ),
            Question(
                "Pruning and sketching make for fewer parameters than there are (1, 7): pruned on the samples",
                f"ln of sqrt(parameters / samples) minus ln of Theorem 5.2, {_OVER_WIDTHS}: > 0",
                partial(least_gap, COUNTING, MEASURED),
            ),
            Question(
                "The bounds are still vacuous (8)",
                "ln of Theorem 5.2, pruned on the samples, the least over the widths: > 0",
                partial(_least, MEASURED),
                published=min(TABLE_1[OURS]),
            ),
            Question(
                "The true error remains relatively stable over the widths (F)",
                "ln of the pruned network's test error, largest minus least over the widths: < 0.5",
                _spread_of_errors,
                published=max(TABLE_1[TRUE]) - min(TABLE_1[TRUE]),
            ),
        ),
        show=_show,
    )
)
