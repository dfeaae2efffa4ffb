"""Truncating a matrix to its largest singular values (Arora et al. 2018, Lemma 1 and Theorem 2.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SingularValues:
    """A = left diag(values) right: orthonormal columns, values in descending order, orthonormal rows."""

    left: Array
    values: Array
    right: Array

    def truncate(self, rank: int) -> SingularValues:
        return SingularValues(self.left[:, :rank], self.values[:rank], self.right[:rank])

    def matrix(self) -> Array:
        return (self.left * self.values) @ self.right

    def rank_for_tolerance(self, tolerance: float) -> int:
        """Lemma 1: singular values that are smaller than tolerance * |A|_2 are removed.

        |A^ - A|_2 <= tolerance |A|_2,    rank of A^ <= |A|_F^2 / (tolerance^2 |A|_2^2)
        """
        if not self.values.any():
            return 0
        return int(np.count_nonzero(self.values >= tolerance * self.values[0]))

    def rank_for_energy(self, energy: float) -> int:
        """The smallest rank that keeps this share of |A|_F^2."""
        squares = np.square(self._scaled())
        kept = np.concatenate([[0.0], np.cumsum(squares)])
        return int(np.argmax(kept >= energy * kept[-1]))

    def lemma1_rank(self, tolerance: float) -> float:
        """The most that Lemma 1 allows for the rank: |A|_F^2 / (tolerance^2 |A|_2^2)."""
        squares = np.square(self._scaled())
        return float(squares.sum()) / tolerance**2

    def _scaled(self) -> Array:
        """In units of the largest, so that no square over- or underflows."""
        return self.values / self.values[0] if self.values.any() else self.values


def decompose(matrix: Array) -> SingularValues:
    """The singular values of a matrix, with the vectors that belong to them."""
    if matrix.ndim != 2 or not matrix.size:
        raise PactError(f"must be a matrix with entries, got shape {matrix.shape}", where="matrix")
    if not np.isfinite(matrix).all():
        raise PactError("it holds NaN or infinity", where="matrix", hint="the training may have diverged")
    # LAPACK's own scaling loses subnormal numbers: a power of two takes the largest entry near 1 without rounding.
    exponent = math.frexp(float(np.abs(matrix).max()))[1]
    try:
        left, values, right = np.linalg.svd(np.ldexp(matrix, -exponent), full_matrices=False)
    except np.linalg.LinAlgError as error:
        raise PactError("its singular values cannot be found", where="matrix", hint="use plain quantisation") from error
    return SingularValues(left, np.ldexp(values, exponent), right)


def theorem22_tolerance(*, margin: float, input_norm: float, norms: Sequence[float], biases: Sequence[float]) -> float:
    """The tolerance of Lemma 1 that keeps every decision of margin > `margin` (Arora et al. 2018, Theorem 2.2, A.3).

        tolerance = margin / (sqrt(2) e sum_i |A^i| B_{i-1} prod_{j>i} |A^j|),   at most 1/d
        B_0 = input_norm,   B_i = |A^i| B_{i-1} + |b^i|

    for a chain of fully connected layers with spectral norms |A^i|, between them activations with slope at most 1 and
    value 0 at 0. Without biases the sum is d |x| prod |A^j|, as printed. What differs from the paper: sqrt(2), because
    logits that move by e in the l2 norm move a margin by up to sqrt(2) e; B for |x| prod_{j<i} |A^j|, because a layer's
    input contains the biases before it; and 1/d, which Lemma 9 presumes: (1 + tolerance)^d <= e.
    """
    depth = len(norms)
    reach, products = input_norm, 0.0
    for norm, bias in zip(norms, biases, strict=True):
        # An error made before this layer is stretched by it; the layer's own is |A^i| B_{i-1}.
        products = products * norm + norm * reach
        reach = norm * reach + bias
    if products == 0.0:
        return 1 / depth
    return min(1 / depth, margin / (math.sqrt(2) * math.e * products))
