"""The one weight matrix of a linear classifier, for the methods that are about nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import nn

from netpact.coding import ShortFloat
from netpact.core.errors import PactError
from netpact.network import Network
from netpact.network.naming import weight_name

Array = NDArray[np.float64]


def find_classifier(network: Network, *, method: str) -> tuple[str, Array]:
    """Name and values of the weight, one row for each class; any other network is refused."""
    if [layer.kind for layer in network.layers] != ["linear"] or network.strays:
        found = ", ".join(f"{layer.name or 'the module itself'} ({layer.kind})" for layer in network.layers)
        raise PactError(
            f"{method} is about linear classifiers: one linear layer is allowed, this network has {found}",
            where=network.name,
            hint="use TruncatedSVD, RandomProjection or Quantize",
        )
    layer = network.layers[0]
    part = network.module.get_submodule(layer.name)
    assert isinstance(part, nn.Linear)
    return weight_name(layer.name), part.weight.detach().numpy().astype(np.float64)


def largest_row(weight: Array) -> float:
    """The largest norm of a row: in units of it every row is a vector of norm at most 1."""
    exponent = int(np.frexp(np.abs(weight).max(initial=0.0))[1])
    rows = np.linalg.norm(np.ldexp(weight, -exponent), axis=1)
    return float(np.ldexp(rows.max(initial=0.0), exponent))


def scale_below(number: float) -> ShortFloat:
    """The largest scale of a message that does not exceed the number: a finer grid breaks no promise."""
    near = ShortFloat.nearest(number)
    if near.value <= number:
        return near
    return ShortFloat(near.exponent, near.mantissa - 1) if near.mantissa else ShortFloat(near.exponent - 1, 15)
