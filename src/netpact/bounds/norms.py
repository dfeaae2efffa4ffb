"""The norms that the baselines read, of one layer's matrix: a row for each output unit, a column for each input."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from netpact.algebra import matrix_norm
from netpact.bounds.options import READING_NAMES
from netpact.core.checks import check_choice
from netpact.core.errors import PactError
from netpact.measurements.structure import WeightLayer


@dataclass(frozen=True, kw_only=True)
class LayerNorms:
    """A without its bias; rows are output units.

    outputs      number of rows, h_i
    spectral     |A|_2, from above
    frobenius    |A|_F
    l1_inf       |A|_1,inf: the largest l1 norm of a row
    l1_l2        |A|_1,2: the l2 norm over the rows of their l1 norms
    l2_l1        |A^T|_2,1: the sum over the rows of their l2 norms
    largest_row  the largest l2 norm of a row of the stored weight, with its bias as one more entry
    """

    name: str
    kind: str
    outputs: int
    spectral: float
    frobenius: float
    l1_inf: float
    l1_l2: float
    l2_l1: float
    largest_row: float


@dataclass(frozen=True, eq=False)
class Rows:
    """Of every row its l1 norm and its squared l2 norm; and the whole matrix's operator norm from above."""

    l1: Tensor
    l2_squared: Tensor
    spectral: float


def measure_norms(layer: WeightLayer, *, convolutions: str = "unrolled") -> LayerNorms:
    """The norms of one weight layer.

    convolutions  how a convolution becomes a matrix: "unrolled", the linear map that it is on its images, or
                  "reshaped", its filters as the rows of one matrix (in wide use, but no theorem is about that matrix)
    """
    rows = READINGS[check_choice(convolutions, READINGS, where="convolutions")](layer)
    weight = layer.weight.double().flatten(1)
    bias = torch.zeros(len(weight)) if layer.bias is None else layer.bias
    with_bias = torch.cat([weight, bias.double()[:, None]], dim=1)
    return LayerNorms(
        name=layer.name,
        kind=layer.kind,
        outputs=rows.l1.numel(),
        spectral=rows.spectral,
        frobenius=math.sqrt(float(rows.l2_squared.sum())),
        l1_inf=float(rows.l1.max()),
        l1_l2=float(torch.linalg.vector_norm(rows.l1)),
        l2_l1=float(rows.l2_squared.sqrt().sum()),
        largest_row=float(torch.linalg.vector_norm(with_bias, dim=1).max()),
    )


def _reshaped(layer: WeightLayer) -> Rows:
    matrix = layer.weight.double().flatten(1)
    return Rows(matrix.abs().sum(dim=1), matrix.square().sum(dim=1), matrix_norm(matrix).upper)


def _unrolled(layer: WeightLayer) -> Rows:
    """The layer with |W|, and with W^2, on ones gives what is wanted of each row."""
    if layer.copies_entries:
        raise PactError(
            f"{layer.part} reads a pixel through several taps, and the norms of its rows are not known",
            where=layer.name,
            hint="allowed: padding by zeros; or convolutions='reshaped'",
        )
    weight, ones = layer.weight.double(), torch.ones(1, *layer.input_shape, dtype=torch.float64)
    l1, l2_squared = (layer.run(taps, ones).flatten() for taps in (weight.abs(), weight.square()))
    return Rows(l1, l2_squared, layer.bound_norm().upper)


READINGS: Mapping[str, Callable[[WeightLayer], Rows]] = MappingProxyType(
    dict(zip(READING_NAMES, (_unrolled, _reshaped), strict=True))
)
