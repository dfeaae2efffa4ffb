"""A LemmaReport as people read it, in 80 columns: every number has its kind beside it."""

from __future__ import annotations

import math
import textwrap

from netpact.measurements.quantity import Numbers
from netpact.measurements.wording import lay_out
from netpact.papers.arora.lemmas.report import LayerComparison, LemmaEstimate, LemmaReport, upper_median

_WIDTH = 80
_LABEL = 28  # letters of "measured", "deviation bound", "estimate lemma-3-printed"


def describe(report: LemmaReport) -> str:
    deviation = report.promise
    return "\n".join(
        [
            *textwrap.wrap(
                f"{report.network} and its compressed form on {deviation.samples:,} samples of {deviation.data_name}, "
                f"delta = {report.delta:g}",
                width=_WIDTH,
                subsequent_indent="  ",
            ),
            *_layer_rows(report.layers),
            "",
            f"  {'|f - f^|_2':<{_LABEL}}  {'median':>10}  {'most':>12}",
            _output_row("measured", deviation.measured),
            _output_row("deviation bound", deviation.bounds),
            *(line for lemma in report.lemmas for line in _lemma_rows(lemma)),
            f"  measured: at most {report.relative_error:.4g} |f|",
        ]
    )


def _layer_rows(layers: tuple[LayerComparison, ...]) -> list[str]:
    heads = [
        ("", "", "", "|A^-A|/|A|", "|x^-x|/|x|", "Lemma 2", "Lemma 13"),
        ("layer", "weights", "numbers", "measured", "measured", "estimate", "estimate"),
    ]
    rows = [
        (
            layer.name,
            f"{layer.weights:,}",
            "-" if layer.count is None else f"{layer.count:,}",
            f"{layer.change:.3g}",
            f"{layer.output_change:.3g}",
            _accuracy(layer.product_error),
            _accuracy(layer.filter_error),
        )
        for layer in layers
    ]
    shown = 7 if any(layer.filter_error is not None for layer in layers) else 6
    return lay_out([row[:shown] for row in (*heads, *rows)], names=0)


def _accuracy(eps: float | None) -> str:
    if eps is None:
        return "-"
    return f"{eps:.3g}" if math.isfinite(eps) else "above 1"


def _output_row(word: str, numbers: Numbers) -> str:
    return f"  {word:<{_LABEL}}  {upper_median(numbers):>10.4g}  {float(numbers.max()):>12.4g}"


def _lemma_rows(lemma: LemmaEstimate) -> list[str]:
    found = lemma.output_error
    word = f"{lemma.kind} {lemma.name}"
    told = "says nothing" if found is None else f"{found:.4g}"
    return [
        f"  {word:<{_LABEL}}  {'':>10}  {told:>12}  eps = {lemma.eps:.3g}",
        *(line for premise in lemma.failing for line in _wrap(str(premise))),
    ]


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, width=_WIDTH, initial_indent="    ", subsequent_indent="      ")
