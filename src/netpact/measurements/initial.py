"""The distance of each layer's weights from those before training."""

from __future__ import annotations

import torch

from netpact.core.errors import PactError
from netpact.measurements.passes import Context, Pass
from netpact.measurements.structure import WeightLayer


def _measure_distances(context: Context) -> dict[int, float]:
    """|A - A_0|_F by the layer's index; nothing where the network before training was not given."""
    if context.initial is None:
        return {}
    parts = dict(context.initial.module.named_modules())
    return {layer.index: _distance(layer, parts.get(layer.name)) for layer in context.structure.layers}


def _distance(layer: WeightLayer, part: torch.nn.Module | None) -> float:
    weight = getattr(part, "weight", None)
    if not isinstance(weight, torch.Tensor) or weight.shape != layer.weight.shape:
        raise PactError(
            f"layer {layer.name} with weights of shape {tuple(layer.weight.shape)} is missing", where="initial"
        )
    return float(torch.linalg.vector_norm(layer.weight.double() - weight.detach().double()))


INITIAL = Pass("initial", _measure_distances)
