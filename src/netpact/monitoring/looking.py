"""One look at a network: errors, margins, cushions and bounds on a few samples."""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import nn

from netpact.bounds import EstimateOptions, estimate_bounds
from netpact.core.json import finite
from netpact.datasets import Data
from netpact.measurements import QUANTITIES, MeasureOptions, Quantity, measure
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
        powers = {name: finite(found[name].log10) for name in bounds}
    return Observation(
        epoch=epoch,
        weights=weights,
        train_error=errors / count,
        test_error=None if tested is None else tested[0] / tested[1],
        gamma=gamma,
        margins={f"{share:g}": number for share, number in measures["margins"].quantiles.items()},
        bounds=powers,
        layers=tuple(LayerObservation(layer.name, _columns(layer.found)) for layer in measures.layers),
        seconds=time.perf_counter() - started,
        network=_columns(measures.found),
    )


def digest_weights(module: nn.Module) -> str:
    """SHA-256 of all parameters and buffers, with names, shapes and types."""
    found = hashlib.sha256()
    for name, tensor in state_of(module).items():
        found.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        found.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def _columns(found: Mapping[str, Quantity]) -> dict[str, float | None]:
    columns: dict[str, float | None] = {}
    for name, quantity in found.items():
        column = QUANTITIES[name].short or name
        columns[column] = finite(quantity.value)
        if quantity.samples is not None:
            columns[f"median_{column}"] = finite(float(np.median(quantity.samples)))
    return columns
