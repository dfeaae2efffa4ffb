"""Measures as people read them: one line for each layer."""

from __future__ import annotations

from netpact.measurements.quantity import Quantity
from netpact.measurements.records import LayerMeasures, Measures

_COLUMNS = (
    ("|A|_F", "frobenius"),
    ("|A|_op <=", "spectral_upper"),
    ("mu", "arora_layer_cushion"),
    ("mu ->", "min_interlayer_cushion"),
    ("c", "activation_contraction"),
    ("beta", "well_distributed"),
    ("rho", "interlayer_smoothness"),
    ("effective", "effective_parameters"),
)


def describe(measures: Measures) -> str:
    told = measures.provenance
    columns = [
        (title, name) for title, name in _COLUMNS if any(getattr(layer, name) is not None for layer in measures.layers)
    ]
    table = [["layer", "parameters", *(title for title, _ in columns)]]
    table += [_row(layer, [name for _, name in columns]) for layer in measures.layers]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    folded = ", batch norm folded" if told.folded else ""
    lines = [
        f"{told.model} on {told.data_name}: {told.samples:,} samples, Jacobians at {told.jacobian_samples:,}{folded}",
        *("  " + "  ".join(_align(row, widths)) for row in table),
        *_network_lines(measures),
    ]
    if any("~" in cell for row in table for cell in row):
        lines.append("  ~ estimate: from some of the samples, or by random probes")
    return "\n".join(lines)


def _row(layer: LayerMeasures, names: list[str]) -> list[str]:
    return [layer.name, f"{layer.parameters:,}", *(_cell(getattr(layer, name)) for name in names)]


def _cell(quantity: Quantity | None) -> str:
    if quantity is None:
        return "-"
    return f"{'' if quantity.exact else '~'}{quantity.value:.4g}"


def _align(row: list[str], widths: list[int]) -> list[str]:
    first, *rest = (f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
    return [f"{first.strip():<{widths[0]}}", *rest]


def _network_lines(measures: Measures) -> list[str]:
    named = (
        ("margin, least", measures.margins),
        ("output norm, most", measures.max_output_norm),
        ("contraction over all layers", measures.activation_contraction),
        ("smoothness over all layers", measures.interlayer_smoothness),
    )
    facts = [f"{name} {_cell(quantity)}" for name, quantity in named if quantity is not None]
    lines = ["  " + "; ".join(facts)] if facts else []
    if not measures.is_chain:
        lines.append("  skips: the paper's induction does not cover this network")
    if measures.has_biases:
        lines.append("  biases: the paper's promise needs the cushions with bias")
    return lines
