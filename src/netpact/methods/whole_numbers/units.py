"""How fine each wire is counted, and how every layer rounds what it reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from torch import nn

from netpact.layers import ChannelAffine
from netpact.methods.whole_numbers.ranges import Range
from netpact.methods.whole_numbers.watching import Seen
from netpact.methods.whole_numbers.wiring import Wire, Wiring

# Of a wire where tensors are added: much finer than the 8 bits that layers read, so that its rounding does not count.
_FINE_BITS = 12
_GAIN_BITS = 5  # a layer's step is met within 3 %; products of this and of sums of 64 entries stay below 2^24
_PIXELS = 255


@dataclass(frozen=True)
class Reading:
    """The input's half of a WholeGrid, and the real number that one of its units is."""

    levels: int
    low: int
    high: int
    gain: int
    divide: int
    step: float


@dataclass(frozen=True)
class Readings:
    """How every layer reads, by name, and what its steps are multiples of, so that its output has its wire's unit.

    units  the real number that one integer on a wire stands for; None for the input, and for logits as they are
    """

    of: Mapping[str, Reading]
    bases: Mapping[str, float]
    units: Mapping[int, float | None]


def find_readings(wiring: Wiring, seen: Mapping[str, Seen], layers: Mapping[str, nn.Module]) -> Readings:
    units = {number: _unit(wire, seen, layers) for number, wire in wiring.wires.items()}
    found, bases = dict[str, Reading](), dict[str, float]()
    for name, layer in layers.items():
        number = wiring.reads[name]
        found[name] = _find_reading(layer, wiring.wires[number], units[number], seen[name].range)
        bases[name] = (units[wiring.writes[name]] or 1.0) / found[name].step
    return Readings(found, bases, units)


def _unit(wire: Wire, seen: Mapping[str, Seen], layers: Mapping[str, nn.Module]) -> float | None:
    if wire.raw or _is_last(wire):
        return None
    steps = {seen[name].range.step for name in wire.readers}
    affine = any(isinstance(layers[name], ChannelAffine) for name in wire.readers)
    if wire.plain and not wire.output and len(steps) == 1 and not affine:
        return steps.pop()
    widest = max([seen[name].widest for name in wire.writers] + [seen[name].range.widest for name in wire.readers])
    return math.ldexp(widest, -_FINE_BITS) or 1.0


def _is_last(wire: Wire) -> bool:
    """Logits of one layer, moved at most."""
    return wire.output and wire.plain and len(wire.writers) == 1 and not wire.readers


def _find_reading(layer: nn.Module, wire: Wire, unit: float | None, found: Range) -> Reading:
    if unit is None:
        return _read_input(found)
    if isinstance(layer, ChannelAffine):
        # Its own product is one for each entry: it takes the wire as fine as it is.
        most = math.ceil(found.widest / unit) or 1
        low = -most if found.low < 0 else 0
        return Reading(0, low, most, 2 if wire.averaged else 1, 1 if wire.averaged else 0, unit)
    low, high = (round(end / unit) for end in (found.low, found.high))
    if unit == found.step:
        return Reading(0, low, max(high, 1), 1, 0, unit)
    gain, divide = _as_fraction(unit / found.step)
    return Reading(0, low, max(high, 1), gain, divide, unit * 2**divide / gain)


def _read_input(found: Range) -> Reading:
    if found.pixels and found.step * _PIXELS < 1.5:
        return Reading(_PIXELS, 0, _PIXELS, 1, 0, 1 / _PIXELS)
    # At least 16 levels to a unit where the numbers are large: then the step is met within 3 %.
    divide = max(0, math.ceil(math.log2(16 * found.step)))
    levels = max(1, round(2**divide / found.step))
    low, high = (round(end * levels) for end in (found.low, found.high))
    return Reading(levels, low, max(high, 1), 1, divide, 2**divide / levels)


def _as_fraction(ratio: float) -> tuple[int, int]:
    """gain and divide with gain / 2^divide near the ratio."""
    divide = max(0, _GAIN_BITS - 1 - math.floor(math.log2(ratio)))
    return max(1, round(math.ldexp(ratio, divide))), divide
