"""Measures as people read them: one line for each layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netpact.measurements.definition import LAYER, QUANTITIES
from netpact.measurements.quantity import Quantity
from netpact.measurements.records import Measures
from netpact.network.naming import shorten_middle

_WIDTH, _LEAST_NAME = 80, 8
_SHOWN = 4  # of the numbers of several places


def describe(measures: Measures) -> str:
    told, columns = measures.provenance, measures.columns()
    table = [["#", "layer", "size", *(row.symbol or row.name for row in columns)]]
    for layer in measures.layers:
        cells = [_cell(layer.get(row.name)) for row in columns]
        table.append([str(layer.index), layer.name, f"{layer.parameters:,}", *cells])
    folded = ", batch norm folded" if told.folded else ""
    lines = [
        f"{told.model} on {told.data_name}: {told.samples:,} samples, Jacobians at {told.jacobian_samples:,}{folded}",
        *lay_out(table, names=1),
        *(f"  {title} {_cell(quantity)}" for title, quantity in titled(measures)),
        *([] if columns else _series(measures)),
    ]
    # Notes on the cushions, which are measured unless others are asked for.
    by_default = any(not QUANTITIES[name].asked for part in (measures, *measures.layers) for name in part.found)
    if by_default and not measures.is_chain:
        lines.append("  skips: the paper's induction does not cover this network")
    if by_default and measures.has_biases:
        lines.append("  biases: what the paper proves needs the cushions with bias")
    lines += [f"  {warning}" for warning in measures.warnings]
    if any("~" in line for line in lines[1:]):
        lines.append("  ~ estimate: from some of the samples, or by random probes")
    return "\n".join(lines)


def titled(measures: Measures) -> Iterator[tuple[str, Quantity]]:
    """What was measured on the network as a whole, in words."""
    for name, quantity in measures.found.items():
        row = QUANTITIES[name]
        over = "" if quantity.samples is None else f", {row.side}"
        yield f"{row.title} over all layers" if LAYER in row.scopes else f"{row.title}{over}", quantity


def _series(measures: Measures) -> Iterator[str]:
    """How the numbers of several places begin, where a table would have no column."""
    for layer in measures.layers:
        for name, ends in layer.pairs.items():
            if ends:
                first = ", ".join(map(_cell, list(ends.values())[:_SHOWN]))
                more = f", ... ({len(ends):,} numbers)" if len(ends) > _SHOWN else ""
                yield f"  {layer.name}: {QUANTITIES[name].title} {first}{more}"


def lay_out(table: Sequence[Sequence[str]], *, names: int) -> list[str]:
    """Numbers to the right, the column of names to the left; a name gets the room that the numbers leave of a line."""
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    others = sum(widths) - widths[names] + len(widths)
    widths[names] = min(widths[names], max(_WIDTH - others, _LEAST_NAME))
    lines = []
    for row in table:
        cells = [f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)]
        cells[names] = f"{shorten_middle(row[names], room=widths[names]):<{widths[names]}}"
        lines.append(" " + " ".join(cells))
    return lines


def _cell(quantity: Quantity | None) -> str:
    if quantity is None:
        return "-"
    value = quantity.value
    count = float(value).is_integer() and 1000 <= value < 1e9  # of weights, say: not 1.47e+03
    return f"{'' if quantity.exact else '~'}{f'{value:,.0f}' if count else f'{value:.3g}'}"
