"""The maps between every two layers at some of the samples: the size of the Jacobian, and what it does to x^i."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from netpact.core.json import JsonValue
from netpact.core.seed import Seed
from netpact.measurements.cost import Cost, Timing
from netpact.measurements.jacobians import Pair, measure_jacobians, run_with_graph
from netpact.measurements.numbers import pack_numbers
from netpact.measurements.passes import Context, Pass
from netpact.measurements.quantity import Numbers
from netpact.measurements.streaming import norms_of
from netpact.network import PartialMap
from netpact.runs.parcels import parcel

_PROBES = 16  # about as many as trained networks need for a few percent


@dataclass(frozen=True, eq=False)
class PairNumbers:
    """One pair i < j for each sample: |x^i|, |J x^i|, |x^j|, and what PairNorm says of J."""

    point: Numbers
    pushed: Numbers
    value: Numbers
    norm: Numbers
    norm_error: Numbers | None
    peak: Numbers | None
    peak_error: Numbers | None


def measure_pairs(context: Context, inputs: Tensor, *, seed: Seed) -> dict[Pair, PairNumbers]:
    """Every pair of layers with a path between them. J x^i comes from one forward-mode pass for all j at once."""
    network, structure = context.network, context.structure
    norms = measure_jacobians(network, structure, inputs, accuracy=context.options.accuracy, seed=seed)
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
            sizes = norms_of(point).numpy(), norms_of(pushed).numpy(), norms_of(value).numpy()
            norm = norms[start, end]
            found[start, end] = PairNumbers(*sizes, norm.norm, norm.norm_error, norm.peak, norm.peak_error)
    return found


def pairs_in_shard(context: str, shard: str, batch: int) -> JsonValue:
    """The numbers of one shard, which is one batch; context and shard are parcels."""
    own, given = parcel(context), parcel(shard)
    [(inputs, _, places)] = given.batches(batch)
    number = int(places[0]) // batch
    found = measure_pairs(own, torch.from_numpy(inputs), seed=own.options.seed.child("jacobians", number))
    return pack_numbers(
        {
            f"{name} {start} {end}": numbers
            for (start, end), pair in found.items()
            for name, numbers in vars(pair).items()
            if numbers is not None
        }
    )


def _run(context: Context) -> dict[int, dict[int, PairNumbers]]:
    numbers = context.numbers(pairs_in_shard, drawn=True)
    found: dict[int, dict[int, PairNumbers]] = {index: {} for index in context.structure.indices}
    names = [entry.name for entry in fields(PairNumbers)]
    for _, start, end in (name.split() for name in numbers if name.startswith("norm ")):
        rows = {name: numbers.get(f"{name} {start} {end}") for name in names}
        found[int(start)][int(end)] = PairNumbers(**rows)  # type: ignore[arg-type]
    return found


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


# By the index where a map begins, then by the one where it ends.
PAIRS = Pass("jacobians", _run, steps=lambda context: len(context.inputs), forecast=_forecast)
