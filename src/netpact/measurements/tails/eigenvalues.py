"""The eigenvalues of W^T W of a layer's matrices that are not 0."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netpact.measurements.tails.options import CONVOLUTIONS

_ENTRIES = 1 << 22  # of a matrix in double precision at once: 32 MB


class Spectrum(NamedTuple):
    """values: ascending, of all matrices together; zeros: how many more are 0 up to rounding, of the smaller sides."""

    values: NDArray[np.float64]
    zeros: int


def layer_spectrum(weight: Tensor, convolution: str) -> Spectrum:
    """The squared singular values. An eigenvalue below n eps times the largest, n the longer side, counts as 0."""
    largest = float(weight.abs().max())
    if largest == 0:
        return Spectrum(np.zeros(0), sum(min(matrix.shape) for matrix in CONVOLUTIONS[convolution](weight)))
    # A power of two, so that nothing is rounded: squares of very small or large weights are floats then.
    exponent = math.frexp(largest)[1]
    found, zeros = [], 0
    for matrix in CONVOLUTIONS[convolution](weight):
        values = torch.linalg.eigvalsh(_gram(matrix, 2.0**-exponent)).numpy()
        kept = values[values > max(matrix.shape) * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)]
        found.append(np.ldexp(kept, 2 * exponent))
        zeros += len(values) - len(kept)
    return Spectrum(np.sort(np.concatenate(found)), zeros)


def _gram(matrix: Tensor, factor: float) -> Tensor:
    """W W^T or W^T W, the smaller of the two, in double precision, summed over parts of the longer side."""
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    rows, columns = wide.shape
    total = torch.zeros((rows, rows), dtype=torch.float64)
    step = max(1, _ENTRIES // rows)
    for start in range(0, columns, step):
        part = wide[:, start : start + step].double() * factor
        total.addmm_(part, part.T)
    return total
