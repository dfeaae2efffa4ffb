"""Numbers of the rules, and tables that the pages of the three experiments share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from netpact.papers.guha.published import BARTLETT_2017, NEYSHABUR_2015, NEYSHABUR_2017, OURS, TRUE
from netpact.papers.guha.study import COUNTING, DENSE, LISTED, LISTED_MEASURED, MEASURED, PRINTED, BoundStudy
from netpact.reports.frame import frame_table
from netpact.reports.text import escape

Seeded = Mapping[str, BoundStudy]

# What each row is, with its formula: the paper states none for the bounds that it compares with.
FORMULAS: Mapping[str, str] = {
    NEYSHABUR_2015: "sqrt(prod |A|_F^2 / (gamma^2 m))",
    NEYSHABUR_2017: "sqrt(prod |A|_2^2 sum h |A|_F^2 / |A|_2^2 / (gamma^2 m))",
    BARTLETT_2017: "sqrt(prod |A|_2^2 (sum (|A^T|_2,1 / |A|_2)^(2/3))^3 / (gamma^2 m))",
    PRINTED: "sqrt(sum 3 lambda chi p^2 log^2 p log r / m), d and rho by Lemma 4.4 with C = 1, delta = 0.05",
    MEASURED: "sqrt(sum j p log^2 p log r / m), pruned as far as the margin allows on the samples",
    DENSE: "sqrt(sum d_1 d_2 log^2 p / m): 3 lambda chi log r = 1",
    LISTED: "sqrt((sum log C(d_1 d_2, alpha) + alpha log r + log 1/delta) / 2m), d and rho as above",
    LISTED_MEASURED: "the same, pruned as far as the margin allows on the samples",
    COUNTING: "sqrt(W / m)",
}
# The paper's row of its own bound, which does not say what d, rho, lambda and eps were.
_PUBLISHED: Mapping[str, str] = {PRINTED: OURS, DENSE: OURS}


def gap(one: BoundStudy, above: str, below: str) -> float:
    """By how much the first bound is larger, in natural logarithms."""
    return one.bounds[above] - one.bounds[below]


def true_error(one: BoundStudy) -> float:
    """ln of the pruned network's error on the test samples; -inf where it makes none."""
    return math.log(one.pruned_error) if one.pruned_error else -math.inf


def bounds_table(
    title: str, columns: Sequence[tuple[str, BoundStudy]], published: Mapping[str, Sequence[float]]
) -> str:
    """ln of every bound: a column for each network, the paper's number below it where it prints one."""
    rows = []
    for name, formula in FORMULAS.items():
        printed = published.get(_PUBLISHED.get(name, name), ())
        cells = [
            f"{one.bounds[name]:.2f}" + (f"<small>{printed[place]:.2f}</small>" if printed else "")
            for place, (_, one) in enumerate(columns)
        ]
        rows.append((f"{escape(name)}<small>{escape(formula)}</small>", *cells))
    truth = published.get(TRUE, ())
    cells = [
        f"{true_error(one):.2f}" + (f"<small>{truth[place]:.2f}</small>" if truth else "")
        for place, (_, one) in enumerate(columns)
    ]
    rows.append(("true error<small>ln of the test error of the pruned network</small>", *cells))
    rows.append(("share of weights kept<small>d, bits</small>", *(_pruned(one) for _, one in columns)))
    rows.append(("d that Lemma 4.4 allows", *(f"{one.printed_scale:.1e}" for _, one in columns)))
    return frame_table(title, ("ln of the bound; small: paper", *(head for head, _ in columns)), rows)


def _pruned(one: BoundStudy) -> str:
    return f"{one.kept:.0%}<small>{'–' if one.scale is None else f'{one.scale:.2g}'}, {one.bits}</small>"
