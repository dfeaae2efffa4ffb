"""The cheap measurements, over all samples: norms at every layer, margins, sizes of the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from netpact.core.progress import Progress
from netpact.datasets import Samples
from netpact.measurements.cost import Cost, Timing
from netpact.measurements.passes import Pass
from netpact.measurements.quantity import Numbers
from netpact.measurements.structure import Structure, WeightLayer
from netpact.network import Network, refuse_bad_logits, stream_activations
from netpact.network.margins import margins_between
from netpact.network.rounding.counting import Logits


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


def measure_samples(
    network: Network, structure: Structure, samples: Samples, *, batch: int, progress: Progress | None = None
) -> SampleNorms:
    """One pass over all samples."""
    rows: dict[int, list[Tensor]] = {index: [] for index in structure.indices}
    margins: list[Tensor] = []
    sizes: list[Tensor] = []
    seen = 0
    for found in stream_activations(network, samples, batch=batch, progress=progress):
        for layer in structure.layers:
            rows[layer.index].append(_norms(layer, found.inputs[layer.index], found.outputs[layer.index]))
        logits = found.logits.double()
        refuse_bad_logits(
            Logits(logits, torch.zeros_like(logits)), found.labels, np.arange(seen, seen + len(found.labels))
        )
        margins.append(margins_between(logits, logits, torch.from_numpy(found.labels)))
        sizes.append(norms_of(logits))
        seen += len(found.labels)
    return SampleNorms(
        {index: LayerNorms(*_joined(parts).T.copy()) for index, parts in rows.items()}, _joined(margins), _joined(sizes)
    )


def _forecast(timing: Timing) -> Cost:
    count = timing.context.samples.count
    return Cost(count * timing.plain, f"{count:,} samples in one pass")


SAMPLE_NORMS = Pass(
    "samples",
    lambda context: measure_samples(
        context.network,
        context.structure,
        context.samples,
        batch=context.batch,
        progress=lambda seen, _: context.report(seen),
    ),
    steps=lambda context: context.samples.count,
    forecast=_forecast,
)


def norms_of(batch: Tensor) -> Tensor:
    """The l2 norm of each sample's tensor, in float64."""
    return torch.linalg.vector_norm(batch.detach().flatten(1), dim=1, dtype=torch.float64)


def _norms(layer: WeightLayer, received: Tensor, output: Tensor) -> Tensor:
    return torch.stack([norms_of(received), norms_of(layer.subtract_bias(output)), norms_of(output)], dim=1)


def _joined(parts: Sequence[Tensor]) -> Numbers:
    return np.concatenate([part.numpy() for part in parts])
