"""Where the bits of a message go, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from netpact.coding.format import measure_message
from netpact.reports.charts.dots import Series, draw_dots
from netpact.reports.charts.figure import Figure
from netpact.reports.frame import Panel

if TYPE_CHECKING:
    from netpact.coding.format import Compressed

_MOST_LAYERS = 60
STRUCTURE = "structure"  # what is in a message beside its tensors


def count_layer_bits(compressed: Compressed) -> dict[str, float]:
    """Bits of each layer of the message, and what else is in it."""
    bits: dict[str, float] = {}
    for said, number in measure_message(compressed):
        tensor = said.partition(":")[0]
        layer = tensor.rpartition(".")[0] or tensor if tensor in compressed.tensors else STRUCTURE
        bits[layer] = bits.get(layer, 0.0) + number
    return bits


def bits_panel(heading: str, files: Mapping[str, Mapping[str, float]], *, name: str, words: str = "") -> Panel:
    """files: bits by layer of each. The layers that take most, in their order."""
    layers = list(dict.fromkeys(layer for bits in files.values() for layer in bits))
    most = {layer: max(bits.get(layer, 0.0) for bits in files.values()) for layer in layers}
    shown = set(sorted(layers, key=lambda layer: -most[layer])[:_MOST_LAYERS])
    return Panel(heading, words, partial(_draw, [one for one in layers if one in shown], files, name, heading))


def _draw(layers: list[str], files: Mapping[str, Mapping[str, float]], name: str, heading: str, width: int) -> Figure:
    series = [
        Series(said, tuple((bits[layer],) if layer in bits else () for layer in layers)) for said, bits in files.items()
    ]
    return draw_dots(layers, series, name=name, title=heading, axis_title="bits", width=width)
