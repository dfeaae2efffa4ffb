"""One look at a network: errors, margins, cushions and bounds on a few samples."""

from __future__ import annotations

import copy
import hashlib
import math
import time
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from netpact.bounds import EstimateOptions, estimate_bounds
from netpact.datasets import Data
from netpact.measurements import LayerMeasures, MeasureOptions, Quantity, measure
from netpact.models.tensors import state_of
from netpact.monitoring.observation import LayerObservation, Observation
from netpact.training import error_rate

# What the bound of Figure 2 reads; smoothness is left out, as it costs more than all of these.
MEASURED = (
    "arora_layer_cushion",
    "min_interlayer_cushion",
    "activation_contraction",
    "well_distributed",
    "margins",
    "max_output_norm",
)


def look_at(
    module: nn.Module, data: Data, options: MeasureOptions, *, bounds: Sequence[str], epoch: int, weights: str
) -> Observation:
    """The network is copied: it may be in training mode and on another device, and stays as it is."""
    started = time.perf_counter()
    seen = copy.deepcopy(module).to("cpu").eval()
    measures = measure(seen, data, options)
    errors, count = error_rate(seen, data.train)
    tested = None if data.test is None else error_rate(seen, data.test)
    gamma: float | None = None
    powers: dict[str, float | None] = dict.fromkeys(bounds)
    # Without a sample that is right there is no margin above 0 to take as gamma, and all bounds are void.
    if errors < count:
        found = estimate_bounds(seen, data, EstimateOptions(cushions="plain"), only=bounds, measures=measures)
        gamma = found.gammas[0] if found.gammas else None
        powers = {name: _finite(found[name].log10) for name in bounds}
    assert measures.margins is not None, "asked for"
    return Observation(
        epoch=epoch,
        weights=weights,
        train_error=errors / count,
        test_error=None if tested is None else tested[0] / tested[1],
        gamma=gamma,
        margins={f"{share:g}": number for share, number in measures.margins.quantiles.items()},
        bounds=powers,
        layers=tuple(_observe(layer) for layer in measures.layers),
        seconds=time.perf_counter() - started,
    )


def digest_weights(module: nn.Module) -> str:
    """SHA-256 of all parameters and buffers, with names, shapes and types."""
    found = hashlib.sha256()
    for name, tensor in state_of(module).items():
        found.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        found.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def _observe(layer: LayerMeasures) -> LayerObservation:
    cushion = layer.arora_layer_cushion
    median = None if cushion is None or cushion.samples is None else _finite(float(np.median(cushion.samples)))
    return LayerObservation(
        layer.name,
        _value(cushion),
        median,
        _value(layer.min_interlayer_cushion),
        _value(layer.activation_contraction),
    )


def _value(quantity: Quantity | None) -> float | None:
    return None if quantity is None else _finite(quantity.value)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
