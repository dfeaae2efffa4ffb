"""A TensorLemmaReport as people read it, in 80 columns: every number has its kind beside it."""

from __future__ import annotations

import math
import textwrap

from netpact.measurements.wording import lay_out
from netpact.papers.li.lemmas.report import TensorLemmaReport

_WIDTH = 80


def describe(report: TensorLemmaReport) -> str:
    told = report.deviation
    printed = report.printed
    rows = [
        ("", "", "|X - X^| / |X|", f"Lemma {report.lemma.name}", *(["as printed"] if printed else [])),
        ("behind layer", "components", "measured", "bound", *(["estimate"] if printed else [])),
    ]
    for place, layer in enumerate(report.lemma.layers):
        kept = f"{layer.rank:,} of {layer.components:,}" if printed else "-"
        cells = (layer.name, kept, _number(report.measured[place]), _number(report.lemma.errors[place]))
        rows.append((*cells, *([_number(printed.errors[place])] if printed else [])))
    title = f"{report.network} and its compressed form on {told.samples:,} samples of {told.data_name}"
    return "\n".join(
        [
            *textwrap.wrap(title, width=_WIDTH, subsequent_indent="  "),
            *lay_out(rows, names=0),
            "",
            "  |f - f^| / |f|, the worst sample",
            f"  measured         {_number(report.relative_error)}",
            f"  deviation bound  {_number(report.relative_deviation)}",
            f"  Lemma {report.lemma.name:<9}  {_number(report.lemma.error)}"
            + ("" if not report.failing else "  (says nothing: a premise fails)"),
            *([f"  as printed       {_number(printed.error)}" + _violated(report)] if printed else []),
            *(line for premise in report.failing for line in _wrap(str(premise))),
        ]
    )


def _violated(report: TensorLemmaReport) -> str:
    assert report.printed is not None
    return "  (violated here)" if report.relative_error > report.printed.error else ""


def _number(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "infinite"


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, width=_WIDTH, initial_indent="    ", subsequent_indent="      ")
