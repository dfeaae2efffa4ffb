"""The maps between every two layers at some of the samples: the size of the Jacobian, and what it does to x^i."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from netpact.core.seed import Seed
from netpact.measurements.cost import Cost, Timing
from netpact.measurements.jacobians import Pair, PairNorm, measure_jacobians, run_with_graph
from netpact.measurements.passes import Context, Pass
from netpact.measurements.quantity import Numbers
from netpact.measurements.streaming import norms_of
from netpact.measurements.structure import Structure
from netpact.network import Network, PartialMap

_PROBES = 16  # about as many as trained networks need for a few percent


@dataclass(frozen=True, eq=False)
class PairNumbers:
    """One pair i < j for each sample: |x^i|, |J x^i|, |x^j|, and the size of J."""

    point: Numbers
    pushed: Numbers
    value: Numbers
    jacobian: PairNorm


def measure_pairs(
    network: Network, structure: Structure, inputs: Tensor, *, accuracy: float, seed: Seed
) -> dict[Pair, PairNumbers]:
    """Every pair of layers between which there is a way. J x^i comes from one forward-mode pass for all j at once."""
    norms = measure_jacobians(network, structure, inputs, accuracy=accuracy, seed=seed)
    found: dict[Pair, PairNumbers] = {}
    for start in structure.indices:
        ends = tuple(end for end in structure.ends(start) if (start, end) in norms)
        if not ends:
            continue
        partial = PartialMap(network, start, ends, inputs)
        point = partial.point()
        with torch.no_grad():
            values = partial(point)
        for end, pushed, value in zip(ends, partial.push(point), values, strict=True):
            arrays = norms_of(point).numpy(), norms_of(pushed).numpy(), norms_of(value).numpy()
            found[start, end] = PairNumbers(*arrays, norms[start, end])
    return found


def _run(context: Context) -> dict[Pair, PairNumbers]:
    accuracy, seed = context.options.accuracy, context.options.seed
    batches = [
        measure_pairs(
            context.network, context.structure, batch, accuracy=accuracy, seed=seed.child("jacobians", number)
        )
        for number, batch in enumerate(context.batches())
    ]
    return {pair: _join([batch[pair] for batch in batches]) for pair in batches[0]}


def _join(parts: Sequence[PairNumbers]) -> PairNumbers:
    def join(numbers: Sequence[Numbers | None]) -> Numbers | None:
        known = [one for one in numbers if one is not None]
        return np.concatenate(known) if known else None

    norms = [part.jacobian for part in parts]
    return PairNumbers(
        np.concatenate([part.point for part in parts]),
        np.concatenate([part.pushed for part in parts]),
        np.concatenate([part.value for part in parts]),
        PairNorm(
            np.concatenate([norm.norm for norm in norms]),
            join([norm.norm_error for norm in norms]),
            join([norm.peak for norm in norms]),
            join([norm.peak_error for norm in norms]),
            sum(norm.passes for norm in norms),
        ),
    )


def _forecast(timing: Timing) -> Cost | None:
    structure, chosen = timing.context.structure, len(timing.context.inputs)
    pairs = sum(len(structure.ends(index)) for index in structure.indices)
    if not pairs:
        return None
    each = _PROBES * _time_probe(timing) + len(structure.layers) * (1.5 * timing.plain + timing.push)
    return Cost(chosen * each, f"{chosen:,} samples x {pairs} pairs of layers")


def _time_probe(timing: Timing) -> float:
    """One backward pass from every layer."""
    structure = timing.context.structure
    outputs = run_with_graph(timing.context.network, structure, timing.few)
    ends = {end: [outputs[start] for start in structure.indices if start < end] for end in outputs}

    def probe() -> None:
        for end, points in ends.items():
            if points:
                target = outputs[end]
                torch.autograd.grad(target, points, torch.ones_like(target), retain_graph=True, allow_unused=True)

    return timing.of(probe)


PAIRS = Pass("jacobians", _run, steps=lambda context: len(context.inputs), forecast=_forecast)
