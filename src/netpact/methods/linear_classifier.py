"""The one weight matrix of a linear classifier, for the methods that are about nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import nn

from netpact.coding import ShortFloat
from netpact.core.checks import check_choice
from netpact.core.errors import PactError
from netpact.methods.grids import GRIDS, Grid, StepGrid, make_grid
from netpact.network import Network
from netpact.network.naming import weight_name

Array = NDArray[np.float64]
LEMMA = "lemma"
_LISTED = 3  # layers that a refusal names
_ANY_STEP = ShortFloat(exponent=0, mantissa=0)


def find_classifier(network: Network, *, method: str) -> tuple[str, Array]:
    """Name and values of the weight, one row for each class; any other network is refused."""
    if [layer.kind for layer in network.layers] != ["linear"] or network.strays:
        listed = [f"{layer.name or 'the module itself'} ({layer.kind})" for layer in network.layers]
        more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
        found = ", ".join(listed[:_LISTED]) + more
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
    """The largest scale of a message that does not exceed the number: a finer grid keeps what is proven."""
    near = ShortFloat.nearest(number)
    if near.value <= number:
        return near
    return ShortFloat(near.exponent, near.mantissa - 1) if near.mantissa else ShortFloat(near.exponent - 1, 15)


def lemma_grid(name: str, *, bits: int | None, step: ShortFloat = _ANY_STEP) -> Grid:
    """The even grid with the step that a lemma asks for, or another one, about which the lemma says nothing."""
    if check_choice(name, (LEMMA, *GRIDS), where="grid") != LEMMA:
        return make_grid(name, bits=bits)
    if bits is not None:
        raise PactError("the lemma says how fine its grid is", where="bits", hint="leave it out, or choose a grid")
    return StepGrid(step)
