"""The cheap measurements, over all samples: norms at every layer, margins, sizes of the output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netpact.core.json import JsonValue
from netpact.measurements.cost import Cost, Timing
from netpact.measurements.numbers import pack_numbers
from netpact.measurements.passes import Context, Pass
from netpact.measurements.quantity import Numbers
from netpact.measurements.structure import Structure, WeightLayer
from netpact.network import Activations, refuse_bad_logits, stream_activations
from netpact.network.margins import margins_between
from netpact.network.rounding.counting import Logits
from netpact.runs.parcels import parcel
from netpact.shards import shard_done

_KINDS = ("received", "linear", "output")


@dataclass(frozen=True, eq=False)
class LayerNorms:
    """For each sample: |h| of what the layer received, |A h| without the bias, |x| with it."""

    received: Numbers
    linear: Numbers
    output: Numbers


@dataclass(frozen=True, eq=False)
class SampleNorms:
    layers: dict[int, LayerNorms]
    margins: Numbers
    logits: Numbers


def norms_in_shard(context: str, shard: str, batch: int) -> JsonValue:
    """The numbers of one shard of the samples; context and shard are parcels."""
    own, given = parcel(context), parcel(shard)
    parts: dict[str, list[Tensor]] = {}
    seen = 0
    for found in stream_activations(own.network, given.samples, batch=batch):
        places = given.places[seen : seen + len(found.labels)]
        for name, numbers in _of_batch(own.structure, found, places).items():
            parts.setdefault(name, []).append(numbers)
        seen += len(found.labels)
        shard_done(seen)
    return pack_numbers({name: torch.cat(rows).numpy() for name, rows in parts.items()})


def _of_batch(structure: Structure, found: Activations, places: NDArray[np.int64]) -> dict[str, Tensor]:
    numbers: dict[str, Tensor] = {}
    for layer in structure.layers:
        received, output = found.inputs[layer.index], found.outputs[layer.index]
        for kind, norms in zip(_KINDS, _norms(layer, received, output), strict=True):
            numbers[f"{kind} {layer.index}"] = norms
    logits = found.logits.double()
    refuse_bad_logits(Logits(logits, torch.zeros_like(logits)), found.labels, places)
    numbers["margins"] = margins_between(logits, logits, torch.from_numpy(found.labels))
    numbers["logits"] = norms_of(logits)
    return numbers


def _run(context: Context) -> SampleNorms:
    """One pass over all samples."""
    found = context.numbers(norms_in_shard, drawn=False)
    layers = {index: LayerNorms(*(found[f"{kind} {index}"] for kind in _KINDS)) for index in context.structure.indices}
    return SampleNorms(layers, found["margins"], found["logits"])


def _forecast(timing: Timing) -> Cost:
    count = timing.context.samples.count
    return Cost(count * timing.plain, f"{count:,} samples in one pass")


SAMPLE_NORMS = Pass("samples", _run, steps=lambda context: context.samples.count, forecast=_forecast)


def norms_of(batch: Tensor) -> Tensor:
    """The l2 norm of each sample's tensor, in float64."""
    return torch.linalg.vector_norm(batch.detach().flatten(1), dim=1, dtype=torch.float64)


def _norms(layer: WeightLayer, received: Tensor, output: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return norms_of(received), norms_of(layer.subtract_bias(output)), norms_of(output)
