"""What is known of a layer from its weights alone."""

from __future__ import annotations

import math

import torch

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.measurements.passes import Context, Pass
from netpact.measurements.quantity import Quantity, of_weights
from netpact.measurements.structure import WeightLayer

_PROBES = 256  # for paddings that bring back entries of the image


def frobenius(layer: WeightLayer) -> float:
    """|A|_F of the weight as it is stored."""
    return float(torch.linalg.vector_norm(layer.weight.double()))


# Proven bounds on the operator norm, from below and from above, by the layer's index.
SPECTRA = Pass("spectra", lambda context: {layer.index: layer.bound_norm() for layer in context.structure.layers})


def matrix_frobenius(layer: WeightLayer, *, seed: Seed) -> Quantity:
    """|M|_F of the layer as one matrix M from all of its input to all of its output.

        |M|_F^2 = the sum of the outputs of the layer with weights w^2, on ones

    since each entry of M is one weight. Padding other than by zeros adds weights together: there |M|_F^2 = E |M v|^2
    over signs v, by probes.
    """
    if not layer.copies_entries:
        ones = torch.ones((1, *layer.input_shape), dtype=torch.float64)
        return of_weights(math.sqrt(float(layer.run(layer.weight.double() ** 2, ones).sum())))
    generator = seed.child("matrix frobenius", layer.name).torch()
    probes = torch.randint(0, 2, (_PROBES, *layer.input_shape), generator=generator).float() * 2 - 1
    squared = layer.run(layer.weight, probes).double().flatten(1).square().sum(dim=1)
    value = math.sqrt(float(squared.mean()))
    error = float(squared.std()) / math.sqrt(_PROBES) / (2 * value) if value > 0 else 0.0
    return Quantity(value, exact=False, stderr=error)


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
