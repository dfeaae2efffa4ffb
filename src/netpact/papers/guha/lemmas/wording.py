"""A PruningLemmaReport as people read it, in 80 columns: every number has its kind beside it."""

from __future__ import annotations

import math
import textwrap
from itertools import zip_longest

from netpact.measurements.wording import lay_out
from netpact.papers.guha.lemmas.report import PrintedLemma, PruningLemmaReport

_WIDTH = 80


def describe(report: PruningLemmaReport) -> str:
    told = report.deviation
    rows: list[tuple[str, ...]] = [("layer", "weights", "kept", "|A|", "|A^ - A|", "Lemma 4.2", "|A~ - A^|")]
    for layer, expected in zip_longest(report.layers, report.expected):
        numbers = (layer.norm, layer.change, expected, layer.rounding)
        rows.append((layer.name, f"{layer.rows * layer.columns:,}", f"{layer.nonzeros:,}", *map(_number, numbers)))

    def chance(one: PrintedLemma) -> str:
        return f", C = {report.constant:g}, wrong with probability {min(one.failure, 1):.3g}" if report.expected else ""

    how = "another network" if report.scale is None else f"its pruned form, d = {report.scale:g},"
    title = f"{report.network} and {how} on {told.samples:,} samples of {told.data_name}"
    return "\n".join(
        [
            *textwrap.wrap(title, width=_WIDTH, subsequent_indent="  "),
            *lay_out(rows, names=0),
            "",
            "  |f - f^|, the worst sample",
            f"  measured         {_number(report.error)}",
            f"  deviation bound  {_number(float(told.bounds.max()))}",
            f"  valid form       {_number(report.valid)}",
            *(
                f"  {f'Lemma {one.name}':<15}  {_number(one.bound)}  (estimate{chance(one)}"
                f"{', violated here' if one.violated else ''})"
                for one in report.printed
            ),
            *(line for premise in report.failing for line in _wrap(str(premise))),
        ]
    )


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if math.isfinite(value) else "infinite"


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, width=_WIDTH, initial_indent="    ", subsequent_indent="      ")
