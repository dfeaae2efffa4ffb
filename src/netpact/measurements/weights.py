"""What is known of a layer from its weights alone."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional

from netpact.algebra import operator_norm
from netpact.core.seed import Seed
from netpact.measurements.quantity import Quantity, of_weights
from netpact.measurements.structure import WeightLayer

_PROBES = 256  # for paddings that bring back entries of the image


def frobenius(layer: WeightLayer) -> float:
    """|A|_F of the weight as it is stored."""
    return float(torch.linalg.vector_norm(layer.weight.double()))


def measure_weights(layer: WeightLayer) -> dict[str, Quantity]:
    """Frobenius norm, both bounds on the operator norm, and the stable rank from below.

    stable rank = |A|_F^2 / |A|_op^2 >= |A|_F^2 / spectral_upper^2
    """
    size = frobenius(layer)
    lower, upper = operator_norm(layer.part, image_size=layer.image_size)
    rank = (size / upper) ** 2 if upper > 0 else 0.0
    return {
        "frobenius": of_weights(size),
        "spectral_lower": of_weights(lower),
        "spectral_upper": of_weights(upper),
        "stable_rank": of_weights(rank),
    }


def matrix_frobenius(layer: WeightLayer, *, seed: Seed) -> Quantity:
    """|M|_F of the layer as one matrix M from all of its input to all of its output.

        linear layer   |M|_F^2 = places * |A|_F^2
        convolution    |M|_F^2 = sum over taps and places where the tap lies inside the image of w^2

    Padding other than by zeros adds entries of M together: there |M|_F^2 = E |M v|^2 over signs v, by probes.
    """
    part, weight = layer.part, layer.weight.double()
    if not isinstance(part, nn.Conv2d):
        return of_weights(math.sqrt(layer.places) * frobenius(layer))
    assert layer.image_size is not None
    shape = (part.in_channels, *layer.image_size)
    if part.padding_mode == "zeros":
        ones = torch.ones((1, *shape), dtype=torch.float64)
        squares = functional.conv2d(ones, weight**2, None, part.stride, part.padding, part.dilation, part.groups)
        return of_weights(math.sqrt(float(squares.sum())))
    generator = seed.child("matrix frobenius", layer.name).torch()
    probes = torch.randint(0, 2, (_PROBES, *shape), generator=generator).float() * 2 - 1
    with torch.no_grad():
        image = part(probes) - (0 if layer.bias is None else layer.bias.view(-1, 1, 1))
    squared = image.double().flatten(1).square().sum(dim=1)
    value = math.sqrt(float(squared.mean()))
    error = float(squared.std()) / math.sqrt(_PROBES) / (2 * value) if value > 0 else 0.0
    return Quantity(value, exact=False, stderr=error)
