"""Rank advice as text of at most 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netpact.core.percent import percent
from netpact.measurements.wording import lay_out

if TYPE_CHECKING:
    from netpact.methods.rank_advice.records import LayerAdvice, RankAdvice, RankPoint

_COLUMNS = ("rank", "numbers", "bytes", "error", "|W-W^|", "bound", "logits", "decisions")


def list_advice(advice: RankAdvice) -> str:
    """One line for each layer, then why, then what all ranks together do."""
    table = [["layer", *_COLUMNS]]
    for layer in advice.layers:
        table.append([layer.name or "(the module)", *_cells(layer.chosen)])
    return "\n".join(
        [
            f"recommended ranks; numbers with this layer alone replaced, {advice.samples:,} samples",
            *lay_out(table, names=0),
            *(f"  {layer.name or '(the module)'}: {layer.why}" for layer in advice.layers),
            *(f"  {name}: left out, {why}" for name, why in advice.left_out),
            *_together(advice),
        ]
    )


def list_curve(layer: LayerAdvice) -> str:
    """One line for each rank of one layer; the recommended one is marked."""
    table = [["", *_COLUMNS]]
    for point in (*layer.points, layer.as_it_is):
        table.append(["->" if point is layer.chosen else "", *_cells(point)])
    shape = "x".join(map(str, layer.shape))
    return "\n".join([f"{layer.name or 'the module'}, {layer.kind} {shape}", *lay_out(table, names=0)])


def _cells(point: RankPoint) -> list[str]:
    bound = point.deviation_bound
    return [
        "as is" if point.rank is None else str(point.rank),
        f"{point.parameters:,}",
        f"{point.bytes:,.0f}",
        f"{point.error:.3g}",
        f"{point.weight_change:.3g}",
        "-" if bound is None else f"{bound:.3g}",
        f"{point.change.logits:.3g}",
        percent(point.change.decisions, places=2),
    ]


def _together(advice: RankAdvice) -> list[str]:
    found, share = advice.together, percent(advice.options.tolerance, places=2)
    kept = found.decisions <= advice.options.tolerance
    lines = [
        f"all together: {advice.bytes:,.0f} bytes instead of {advice.bytes_before:,.0f} at {advice.options.bits} bits",
        f"  {percent(found.decisions, places=2)} of the decisions change, {share} allowed, "
        f"{percent(advice.rounded.decisions, places=2)} by rounding alone",
        f"  accuracy {percent(advice.accuracy, places=2)} before, {percent(found.accuracy, places=2)} after; measured, "
        "no certificate",
        *(() if kept else ("  even with no layer decomposed: allow more, or give more bits",)),
    ]
    return [*lines, *([f"  {advice.note}"] if advice.note else [])]
