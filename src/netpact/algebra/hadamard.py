"""The randomised-Hadamard variant of Matrix-Project: n log n operations instead of k n.

The matrices are M_i = D h_i: h_i are k different rows of the Hadamard matrix H of order N, the least power of two that
holds the vector, and D are random signs on the vector's entries; N - size entries behind it are zero.

    H_{r,c} = (-1)^(number of ones that r and c have in common in binary),    A^ = (1/k) sum_i <A, M_i> M_i

Rows are a uniformly random set, so E[A^] = A as for independent signs: each row is taken with probability k/N, and
the sum of M M^T over all rows is N I. The expected squared error is (N/k - 1)|A|^2 before the entries behind the vector
are cut off: less than the (size - 1)/k |A|^2 of independent signs where N is near the size, and 0 at k = N.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from netpact.algebra.projection import Array, Integers, refuse_inexact
from netpact.algebra.stream import Stream
from netpact.core.checks import check_integer

_FACTOR = 1 << 6  # H of this order is applied as one product of matrices; larger ones are Kronecker products of it

# Steps of about a nanosecond and bytes in use at once: to choose rows and signs, and for each entry of the vectors.
_KEY_STEPS, _PASS_STEPS = 200, 20
_KEY_BYTES, _ENTRY_BYTES = 32, 32


@dataclass(frozen=True, kw_only=True)
class HadamardProjector:
    """Signs are numbers 0, 1, ... of the stream "projection flips"; rows are chosen by that named "projection rows"."""

    size: int
    count: int
    seed: int
    layer: int

    def __post_init__(self) -> None:
        check_integer(self.size, where="size", least=1)
        check_integer(self.count, where="count", least=1, most=self.order)

    @property
    def order(self) -> int:
        return 1 << max(0, self.size - 1).bit_length()

    def measure(self, vectors: Array) -> Array:
        padded = np.zeros((len(vectors), self.order))
        np.multiply(vectors, self._flips(), out=padded[:, : self.size])
        return np.asarray(transform_hadamard(padded)[:, self.rows()])

    def combine(self, coefficients: Integers) -> Array:
        refuse_inexact(coefficients)
        spread = np.zeros((len(coefficients), self.order))
        spread[:, self.rows()] = coefficients
        return np.asarray(transform_hadamard(spread)[:, : self.size] * self._flips())

    def effort(self, rows: int) -> tuple[int, int]:
        """n log n: a pass over the entries for each factor of the Hadamard matrix."""
        passes = 1 + self.order.bit_length() // (_FACTOR.bit_length() - 1)
        work = self.order * (_KEY_STEPS + _PASS_STEPS * passes * rows)
        return work, self.order * (_KEY_BYTES + _ENTRY_BYTES * rows)

    def rows(self) -> Integers:
        """The `count` rows with the least keys, in ascending order; of equal keys the lower row comes first."""
        keys = Stream(self.seed, "projection rows", self.layer).keys(0, self.order)
        last = np.partition(keys, self.count - 1)[self.count - 1]
        below, equal = np.flatnonzero(keys < last), np.flatnonzero(keys == last)
        return np.sort(np.concatenate([below, equal[: self.count - len(below)]]))

    def _flips(self) -> Array:
        return Stream(self.seed, "projection flips", self.layer).signs(0, self.size).astype(np.float64)


def transform_hadamard(values: Array) -> Array:
    """H times every row of (rows, order); the order is a power of two.

    Integers whose magnitudes add up to less than 2^53 give exact results: in whatever order a product of matrices
    adds them up, every partial sum is such a number too.
    """
    order = values.shape[-1]
    done = min(_FACTOR, order)
    result = values.reshape(-1, done) @ _hadamard(done)
    while done < order:
        width = min(_FACTOR, order // done)
        result = np.matmul(_hadamard(width), result.reshape(-1, width, done))
        done *= width
    return result.reshape(values.shape)


@cache
def _hadamard(order: int) -> Array:
    matrix = np.ones((1, 1))
    while len(matrix) < order:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    matrix.setflags(write=False)  # it is kept
    return matrix
