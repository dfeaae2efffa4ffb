"""Measures as people read them: one line for each layer."""

from __future__ import annotations

from netpact.measurements.quantity import Quantity
from netpact.measurements.records import LayerMeasures, Measures
from netpact.network.naming import shorten_middle

_WIDTH, _LEAST_NAME = 80, 8
_NAME = 1  # the column of names

_COLUMNS = (
    ("|A|_F", "frobenius"),
    ("|A|_op", "spectral_upper"),
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
    table = [["#", "layer", "size", *(title for title, _ in columns)]]
    table += [_row(layer, [name for _, name in columns]) for layer in measures.layers]
    folded = ", batch norm folded" if told.folded else ""
    lines = [
        f"{told.model} on {told.data_name}: {told.samples:,} samples, Jacobians at {told.jacobian_samples:,}{folded}",
        *_lay_out(table),
        *_network_lines(measures),
    ]
    if any("~" in cell for row in table for cell in row):
        lines.append("  ~ estimate: from some of the samples, or by random probes")
    return "\n".join(lines)


def _row(layer: LayerMeasures, names: list[str]) -> list[str]:
    cells = [_cell(getattr(layer, name)) for name in names]
    return [str(layer.index), layer.name, f"{layer.parameters:,}", *cells]


def _lay_out(table: list[list[str]]) -> list[str]:
    """Names to the left, numbers to the right; a name gets the room that the numbers leave of a line."""
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    others = sum(widths) - widths[_NAME] + len(widths)
    widths[_NAME] = min(widths[_NAME], max(_WIDTH - others, _LEAST_NAME))
    lines = []
    for row in table:
        cells = [f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)]
        cells[_NAME] = f"{shorten_middle(row[_NAME], room=widths[_NAME]):<{widths[_NAME]}}"
        lines.append(" " + " ".join(cells))
    return lines


def _cell(quantity: Quantity | None) -> str:
    if quantity is None:
        return "-"
    return f"{'' if quantity.exact else '~'}{quantity.value:.3g}"


def _network_lines(measures: Measures) -> list[str]:
    named = (
        ("margin, least", measures.margins),
        ("output norm, most", measures.max_output_norm),
        ("contraction over all layers", measures.activation_contraction),
        ("smoothness over all layers", measures.interlayer_smoothness),
    )
    facts = [f"{name} {_cell(quantity)}" for name, quantity in named if quantity is not None]
    lines = [f"  {fact}" for fact in facts]
    if not measures.is_chain:
        lines.append("  skips: the paper's induction does not cover this network")
    if measures.has_biases:
        lines.append("  biases: the paper's promise needs the cushions with bias")
    return lines
