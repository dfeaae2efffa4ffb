"""One run of the network on calibration inputs, in which each layer becomes an integer layer as it is reached."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from netpact.core.progress import Progress
from netpact.layers import ChannelAffine, WholeGrid
from netpact.methods.layer_moments import layer_moments
from netpact.methods.whole_numbers.units import Reading, Readings
from netpact.methods.whole_numbers.watching import Seen, channel_axis, hooked
from netpact.methods.whole_numbers.weights import MOST_BIAS, Array, Integers, Rows, fit_rows

_AFFINE_BITS = 12  # of the scales of a ChannelAffine: few numbers, each of which counts
_RUNGS = 4


@dataclass
class Converted:
    """A layer in integers: how it reads, its rows, and its bias in real numbers."""

    reading: Reading
    rows: Rows
    bias: Array

    @property
    def exponent(self) -> int:
        """Of the finest step: it decides what the multipliers are divided by."""
        return int((self.rows.rungs // _RUNGS).min(initial=0))

    def grid(self, *, exact: bool, reach: int) -> WholeGrid:
        own = self.reading
        shift = 0 if exact else max(0, -self.exponent)
        return WholeGrid(own.levels, own.low, own.high, own.gain, own.divide, shift, reach)

    def multiplier_rungs(self, *, exact: bool) -> Integers:
        """(4 + m) 2^e with e at least 0: the finest ones for logits, which need no common unit."""
        lowest = self.exponent if exact else min(0, self.exponent)
        return np.asarray(self.rows.rungs - _RUNGS * lowest)


@dataclass(frozen=True, eq=False)
class Conversion:
    """The layers by name, how they read, what was seen of them, and how their weights are rounded."""

    layers: Mapping[str, nn.Module]
    readings: Readings
    seen: Mapping[str, Seen]
    bits: int
    second_order: bool


@torch.no_grad()
def convert_layers(
    module: nn.Module, conversion: Conversion, inputs: Tensor, progress: Progress | None
) -> dict[str, Converted]:
    """Every layer sees what the layers before it make of the inputs once they are rounded. The module is changed."""
    layers, readings, seen = conversion.layers, conversion.readings, conversion.seen
    done: dict[str, Converted] = {}

    def convert(name: str, layer: nn.Module, given: Tensor, result: Tensor) -> Tensor:
        rounded = _rounded(readings.of[name], given)
        if name not in done:
            done[name] = _convert(layer, readings.of[name], readings.bases[name], rounded, conversion)
            found = _run(layer, rounded)
            channel = channel_axis(layer) % found.dim()
            off = seen[name].mean - found.double().mean(dim=[axis for axis in range(found.dim()) if axis != channel])
            done[name].bias += off.numpy()
            assert isinstance(layer.bias, Tensor)
            layer.bias += off.to(layer.bias.dtype)
            if progress is not None:
                progress(len(done), len(layers))
        return _run(layer, rounded)

    with hooked(layers, convert):
        module(inputs.clone())
    return done


def _rounded(reading: Reading, given: Tensor) -> Tensor:
    most, least = (end * (reading.gain / 2**reading.divide) for end in (reading.high, reading.low))
    return (given / reading.step).round_().clamp_(round(least), round(most)).mul_(reading.step)


def _run(layer: nn.Module, x: Tensor) -> Tensor:
    """Without the hooks: their results would be taken for the layer's again."""
    found: Tensor = layer.forward(x)
    return found


def _convert(layer: nn.Module, reading: Reading, base: float, inputs: Tensor, how: Conversion) -> Converted:
    assert isinstance(layer.weight, Tensor)
    weight = layer.weight.detach().double().numpy()
    rows = weight.reshape(len(weight), -1)
    if layer.bias is None:
        layer.bias = nn.Parameter(layer.weight.new_zeros(len(weight)), requires_grad=False)
    assert isinstance(layer.bias, Tensor)
    bias = layer.bias.detach().double().numpy().copy()
    affine = isinstance(layer, ChannelAffine)
    most = 2 ** ((_AFFINE_BITS if affine else how.bits) - 1) - 1
    moments = layer_moments(layer, inputs) if how.second_order and not affine else None
    least = np.abs(bias) / (reading.step * MOST_BIAS)
    fitted = fit_rows(rows, moments, most=most, base=base, least=least)
    layer.weight.copy_(torch.from_numpy((fitted.symbols * fitted.steps[:, None]).reshape(weight.shape)))
    return Converted(reading, fitted, bias)


def bias_places(converted: Converted, *, exact: bool) -> int:
    """How many binary digits of the bias may be left out: an eighth of what the output is rounded to is kept."""
    if exact:
        return 0
    coarsest = int((converted.rows.rungs // _RUNGS).max(initial=0)) + 3
    return max(0, min(20, -coarsest - 3))


def bias_symbols(converted: Converted, places: int) -> Integers:
    unit = converted.reading.step * converted.rows.steps * math.ldexp(1.0, places)
    return np.rint(converted.bias / unit).astype(np.int64)
