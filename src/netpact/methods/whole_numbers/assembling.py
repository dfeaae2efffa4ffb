"""From converted layers to what the message says: rewrites, and tensors of integers."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import nn

from netpact.coding import ShortFloat
from netpact.coding.format import WHOLE, Compressed, own_slots
from netpact.coding.format.loading import load_module
from netpact.coding.forms import CodedTensor, Scaled, Uniform
from netpact.core.errors import PactError
from netpact.layers.rewrites import Rewrite, Step, ToWhole, ToWholeClip, ToWholePool
from netpact.layers.whole.account import TooLargeError
from netpact.layers.whole.proving import run_counted
from netpact.methods.whole_numbers.converting import Converted, bias_places, bias_symbols
from netpact.methods.whole_numbers.wiring import CLIPPED, Wiring
from netpact.network import Network

_REACH = 1 << 13  # twice what a wire counts up to for the calibration inputs
_POOL_BITS = 20


def assemble(
    network: Network,
    folded: nn.Module,
    folds: tuple[Step, ...],
    wiring: Wiring,
    units: Mapping[int, float | None],
    found: Mapping[str, Converted],
) -> Compressed:
    """Proven to be exact for every input. Outputs are clamped only where a sum of them could be too large."""
    tensors = _tensors(folded, wiring, units, found)
    for reach in (0, _REACH):
        steps = tuple(_steps(folded, wiring, units, found, reach))
        order = [slot.name for slot in own_slots(network.module, (*folds, *steps))]
        if missing := [name for name in order if name not in tensors]:
            raise PactError(
                f"{', '.join(missing[:5])}: no integer layer holds these",
                where=network.name,
                hint="supported: Linear, Conv2d, batch norm and ChannelAffine layers",
            )
        own = {name: tensors[name] for name in order}
        coded = Compressed(network.architecture, own, WHOLE, rewrites=(*folds, *steps))
        try:
            # The account of one run holds for every input.
            module = load_module(coded, copy.deepcopy(network.module))
            run_counted(module, torch.zeros(1, *network.architecture.input_shape))
            return coded
        except TooLargeError:
            if reach:
                raise
    raise AssertionError("the last reach raises or returns")


def _steps(
    folded: nn.Module, wiring: Wiring, units: Mapping[int, float | None], found: Mapping[str, Converted], reach: int
) -> Iterator[Step]:
    """Each layer keeps its number: what takes its place has no parts of its own either."""
    for number, (name, part) in enumerate(folded.named_modules()):
        if name in found:
            exact = units[wiring.writes[name]] is None
            clamped = reach if not exact and not wiring.wires[wiring.writes[name]].plain else 0
            yield Step(number, ToWhole(**vars(found[name].grid(exact=exact, reach=clamped))))
        elif name in wiring.clips and type(part) in CLIPPED:
            yield Step(number, _clip(part, units[wiring.clips[name]] or 1.0))
        elif name in wiring.pools:
            yield Step(number, ToWholePool(round(2**_POOL_BITS * 16 / wiring.pools[name]), _POOL_BITS + 4))


def _clip(part: nn.Module, unit: float) -> Rewrite:
    assert isinstance(part, nn.Hardtanh)  # ReLU6 is one
    return ToWholeClip(min(0, round(part.min_val / unit)), max(1, round(part.max_val / unit)))


def _tensors(
    folded: nn.Module, wiring: Wiring, units: Mapping[int, float | None], found: Mapping[str, Converted]
) -> dict[str, CodedTensor]:
    tensors: dict[str, CodedTensor] = {}
    for name, converted in found.items():
        shape = tuple(folded.get_parameter(f"{name}.weight".lstrip(".")).shape)
        exact = units[wiring.writes[name]] is None
        places = bias_places(converted, exact=exact)
        rungs = converted.multiplier_rungs(exact=exact)
        middle = int(np.median(rungs // 4)) if len(rungs) else 0
        # The ladder of the form "scaled" is that of the multipliers: (4 + m) 2^e = 4 (1 + m/4) 2^e.
        ladder = Scaled(Uniform(ShortFloat(exponent=2 + middle, mantissa=0)))
        symbols = np.concatenate([rungs - 4 * middle, np.ones(len(rungs), dtype=np.int64)])
        prefix = f"{name}." if name else ""
        coarse = Uniform(ShortFloat(exponent=places, mantissa=0))
        weight = CodedTensor(Uniform(ShortFloat(0, 0)), converted.rows.symbols.ravel(), shape)
        tensors[f"{prefix}weight"] = weight
        tensors[f"{prefix}bias"] = CodedTensor(coarse, bias_symbols(converted, places), shape[:1])
        tensors[f"{prefix}multiplier"] = CodedTensor(ladder, symbols, shape[:1])
    return tensors
