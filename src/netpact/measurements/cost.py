"""How long measuring will take: one probe of each kind is timed and multiplied."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from netpact.measurements.jacobians import run_with_graph
from netpact.measurements.options import JACOBIANS, NOISE, SAMPLES, MeasureOptions
from netpact.measurements.structure import Structure
from netpact.network import Network, PartialMap

_PROBES = 16  # about as many as trained networks need for a few percent
_TIMED_SAMPLES, _MANY = 4, 64
_QUICK, _LONG = 0.01, 1.0  # seconds: a few samples below the first are quick, timing beyond the second ends
_MINUTE = 60.0


@dataclass(frozen=True)
class Cost:
    """seconds is a forecast, what is a sentence about where they go."""

    seconds: float
    what: str

    def __str__(self) -> str:
        if self.seconds < 1:
            return f"about a second: {self.what}"
        if self.seconds < 1.5 * _MINUTE:
            return f"about {self.seconds:.0f} seconds: {self.what}"
        return f"about {self.seconds / _MINUTE:.0f} minutes: {self.what}"


def forecast(
    network: Network, structure: Structure, inputs: Tensor, options: MeasureOptions, *, samples: int, chosen: int
) -> Cost:
    """Time one pass, one probe and one derivative on a few samples.

    samples, chosen  how many there are, and at how many of them Jacobians are looked at
    """
    few = inputs[: _count_timed(network, inputs)]
    plain = _seconds(lambda: network.module(few)) / len(few)
    seconds, parts = 0.0, []
    if options.needs(SAMPLES):
        seconds += samples * plain
        parts.append(f"{samples:,} samples in one pass")
    push = (
        _push_seconds(network, structure, few) / len(few) if options.needs(JACOBIANS) or options.needs(NOISE) else 0.0
    )
    pairs = sum(len(structure.ends(index)) for index in structure.indices)
    if pairs and options.needs(JACOBIANS):
        seconds += chosen * (_probe_seconds(network, structure, few) * _PROBES) / len(few)
        seconds += chosen * len(structure.layers) * (1.5 * plain + push)
        parts.append(f"{chosen:,} samples x {pairs} pairs of layers")
    if pairs and options.needs(NOISE):
        # One compressed pass; for each layer a plain one up to it, and after it two moved ones and two derivatives.
        each = plain + len(structure.layers) * (2 * plain + 2 * push)
        seconds += chosen * options.draws * each
        parts.append(f"{chosen:,} samples x {options.draws * 2 * len(structure.layers)} noises")
    return Cost(seconds, ", ".join(parts) or "weights only")


def _count_timed(network: Network, inputs: Tensor) -> int:
    """A few samples; more where they cost next to nothing, as a small network spends its time between operations."""
    few = inputs[:_TIMED_SAMPLES]
    return len(few) if _seconds(lambda: network.module(few)) > _QUICK else min(len(inputs), _MANY)


def _probe_seconds(network: Network, structure: Structure, few: Tensor) -> float:
    """One backward pass from every layer."""
    outputs = run_with_graph(network, structure, few)
    ends = {end: [outputs[start] for start in structure.indices if start < end] for end in outputs}

    def probe() -> None:
        for end, points in ends.items():
            if points:
                target = outputs[end]
                torch.autograd.grad(target, points, torch.ones_like(target), retain_graph=True, allow_unused=True)

    return _seconds(probe)


def _push_seconds(network: Network, structure: Structure, few: Tensor) -> float:
    """A derivative from the middle layer that has something after it: what the layers take on average."""
    starts = [layer.index for layer in structure.layers if structure.ends(layer.index)]
    if not starts:
        return 0.0
    middle = starts[len(starts) // 2]
    partial = PartialMap(network, middle, structure.ends(middle), few)
    return _seconds(lambda: partial.push(partial.point()))


def _seconds(work: Callable[[], object]) -> float:
    """The median of three runs after a first one that loads and allocates; slow work is timed once."""
    times: list[float] = []
    with torch.no_grad():
        work()
        while len(times) < 3 and sum(times) < _LONG:
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
    return statistics.median(times)
