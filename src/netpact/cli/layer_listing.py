"""A table of layers as text of at most 80 columns."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import TYPE_CHECKING

from netpact.network.naming import shorten_middle

if TYPE_CHECKING:
    from netpact.network.layer_table import LayerRow, LayerTable

WIDTH = 80
_GAP = "  "
_HEADINGS = ("#", "layer", "kind and shape", "parameters", "FLOPs", "lower", "upper")
_NAME, _KIND = 1, 2  # the columns of words, from the left; the others are numbers
_MOST_KIND, _LEAST_NAME = 22, 8
_UNITS = ("", " k", " M", " G", " T", " P")


def list_layers(table: LayerTable) -> str:
    """One line a layer and a line of totals. Long names lose their middle, numbers are always whole."""
    total = ("", "total", "", f"{table.parameters:,}", show_flops(table.flops), "", "")
    lines = [_HEADINGS, *(_cells(row) for row in table.rows), total]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    others = sum(width for column, width in enumerate(widths) if column != _NAME) + len(_GAP) * (len(widths) - 1)
    widths[_NAME] = min(widths[_NAME], max(WIDTH - others, _LEAST_NAME))
    rule = "-" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    shown = [_lay_out(line, widths) for line in lines]
    return "\n".join([shown[0], rule, *shown[1:-1], rule, shown[-1]])


def show_flops(count: int | None) -> str:
    """Three digits and a unit: 3538944 -> '3.54 M'; a dash where the count is not known."""
    if count is None:
        return "-"
    power = 0
    while power < len(_UNITS) - 1 and float(f"{count / 1000**power:.3g}") >= 1000:
        power += 1
    digits = f"{count / 1000**power:#.3g}".removesuffix(".") if power else str(count)
    return f"{digits}{_UNITS[power]}"


def show_norm(value: float | None, *, rounding: str) -> str:
    """Four digits, rounded outward, so that what is shown is a bound as well."""
    return "-" if value is None else f"{Context(prec=4, rounding=rounding).create_decimal(value):g}"


def _cells(row: LayerRow) -> tuple[str, ...]:
    kind = " ".join([row.kind, "x".join(map(str, row.shape))]).rstrip()
    return (
        str(row.index),
        row.name or "(the module itself)",
        shorten_middle(kind, room=_MOST_KIND),
        f"{row.parameters:,}",
        show_flops(row.flops),
        show_norm(row.spectral_lower, rounding=ROUND_FLOOR),
        show_norm(row.spectral_upper, rounding=ROUND_CEILING),
    )


def _lay_out(line: tuple[str, ...], widths: list[int]) -> str:
    cells = []
    for column, (cell, width) in enumerate(zip(line, widths, strict=True)):
        fitted = shorten_middle(cell, room=width)
        cells.append(fitted.ljust(width) if column in (_NAME, _KIND) else fitted.rjust(width))
    return _GAP.join(cells).rstrip()
