"""Tails as people read them: one line for each layer, and the warnings."""

from __future__ import annotations

from netpact.measurements.tails.records import TailFit, Tails
from netpact.measurements.wording import lay_out

_HEADS = ["layer", "shape", "weights: alpha", "in tail", "eigenvalues: alpha", "in tail", "stable", "s. rank"]


def describe(tails: Tails) -> str:
    table = [_HEADS]
    for layer in tails.layers:
        cells = [*_cells(layer.weights), *_cells(layer.eigenvalues)]
        stable = "-" if layer.stable is None else f"{layer.stable.alpha:.2f}"
        rank = "-" if layer.stable_rank is None else f"{layer.stable_rank:.3g}"
        table.append([layer.name, "x".join(map(str, layer.shape)), *cells, stable, rank])
    lines = [f"{tails.model}: density w^-alpha; a convolution as {tails.convolution}", *lay_out(table, names=0)]
    lines += [f"  {warning}" for warning in tails.warnings]
    return "\n".join(lines)


def _cells(found: TailFit | None) -> tuple[str, str]:
    if found is None:
        return "-", "-"
    mark = "*" if found.warnings else ""
    return f"{mark}{found.alpha:.2f} +- {found.fit.alpha_stderr:.2f}", f"{found.fit.tail_count:,}"
