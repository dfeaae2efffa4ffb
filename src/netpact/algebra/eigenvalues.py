"""A proven upper bound on the largest eigenvalue among many Hermitian matrices.

An eigenvalue routine proposes a level, a Cholesky factorisation proves it. If the factorisation of level * I - G runs
to its end in floating point, then level * I - G + E is positive semidefinite for some

    |E|_2 <= gamma_{n+1} / (1 - gamma_{n+1}) * trace(level * I - G)         (Rump 2006; Higham 2002, theorem 10.3)

in real arithmetic. Complex products cost up to four times as much, blocked variants a little more; the constant below
is sixteen times the real one, and still some 1e-9 of the level at size 500. One factorisation is far cheaper than the
eigenvalues, and after the first matrices hardly any needs more than one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse.linalg import ArpackError, eigsh
from torch import Tensor

from netpact.core.seed import Seed

_UNIT = 2.0**-53
_SMALL = 128  # up to this size all eigenvalues cost less than the overhead of finding one


class Peak(NamedTuple):
    """bound >= every eigenvalue; vector: an eigenvector of matrix number `place`, where the level was last raised."""

    bound: float
    place: int
    vector: Tensor


def bound_eigenvalues(portions: Iterable[Tensor], *, margin: float) -> Peak:
    """A number that no eigenvalue of the matrices (lower triangles) exceeds; about 1 + margin times the largest.

    The matrices are positive semidefinite up to rounding, and finite; the portions are used as working memory.
    """
    level, place, vector, start, size = 0.0, 0, torch.zeros(0), 0, 1
    for portion in portions:
        size = portion.shape[-1]
        diagonal = portion.diagonal(dim1=-2, dim2=-1).clone()
        shifted, places = portion.neg_(), torch.arange(start, start + len(portion))
        while True:
            pivot = _failing_pivot(shifted, diagonal, level)
            failed = pivot != 0
            if not bool(failed.any()):
                break
            shifted, diagonal, places = shifted[failed], diagonal[failed], places[failed]
            # The earlier a factorisation fails, the further above the level the matrix tends to be.
            worst = int(pivot[failed].argmin())
            place = int(places[worst])
            matrix = -shifted[worst]
            matrix.diagonal().copy_(diagonal[worst])
            level, vector = _raise_level(matrix, level, margin)
        start += len(portion)
    # The trace is at most size * level; the last term is the rounding of the differences on the diagonal.
    return Peak(level * (1 + 16 * (size + 4) * _UNIT * size + 4 * _UNIT), place, vector)


def _failing_pivot(shifted: Tensor, diagonal: Tensor, level: float) -> Tensor:
    """Puts level - diagonal on the diagonals; 0 where the factorisation runs to its end, else where it fails."""
    shifted.diagonal(dim1=-2, dim2=-1).copy_(level - diagonal)
    return torch.linalg.cholesky_ex(shifted).info


def _raise_level(matrix: Tensor, level: float, margin: float) -> tuple[float, Tensor]:
    """A level that is proven for this matrix. The excess grows until the factorisation succeeds, so it always ends."""
    value, vector = _largest_pair(matrix)
    shifted, diagonal = -matrix[None], matrix.diagonal()[None]
    excess = margin
    while True:
        level = max(level, max(value, 0.0) * (1 + excess) + excess * 2.0**-30)
        if not int(_failing_pivot(shifted, diagonal, level)):
            return level, vector
        # An iteration may have met a smaller eigenvalue first; then all of them are computed.
        value, vector = _all_pairs(matrix)
        excess *= 4


def _largest_pair(matrix: Tensor) -> tuple[float, Tensor]:
    size = len(matrix)
    if size <= _SMALL:
        return _all_pairs(matrix)
    whole = (matrix.tril() + matrix.tril(-1).mH).numpy()
    start = Seed(0).child("eigenvector").numpy().standard_normal(size).astype(whole.dtype)
    try:
        values, vectors = eigsh(whole, k=1, which="LA", v0=start, tol=1e-12)
    except ArpackError:
        return _all_pairs(matrix)
    return float(values[0]), torch.from_numpy(np.ascontiguousarray(vectors[:, 0]))


def _all_pairs(matrix: Tensor) -> tuple[float, Tensor]:
    values, vectors = torch.linalg.eigh(matrix)
    return float(values[-1]), vectors[:, -1]
