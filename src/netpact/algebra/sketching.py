"""Sketches of sparse matrices, Y = A X B^T with sparse binary A and B (Dasarathy et al. 2013; Guha et al. 2023).

Of a p1 x p2 matrix X with few entries that are not 0 in each row and column, Y has m1 x m2 numbers. A and B come from
the helper stream: whoever knows the seed draws them again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netpact.algebra.stream import MAX_SEED, Stream
from netpact.core.checks import check_choice, check_integer
from netpact.core.errors import PactError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
EXACT = 1 << 53  # float64 adds integers exactly while all sums stay below
MAX_SIDE = 1 << 16
ENSEMBLES = ("column", "row")
_PURPOSES = ("sketch rows", "sketch columns")


@dataclass(frozen=True, kw_only=True)
class Sketcher:
    """The map X -> Y = A X B^T.

    shape  (p1, p2) of the matrix
    sides  (m1, m2) of its sketch; a side with m >= p is not shortened: there A or B is the identity
    ones   how many ones each column of A and B has, the delta of the papers: about log p
    seed   with layer, which stretch of the helper stream A and B come from
    per    "column": so many ones in each column, as Dasarathy et al. have it; "row": in each row, as Guha et al., E.1,
           print it: columns without a one are lost then
    """

    shape: tuple[int, int]
    sides: tuple[int, int]
    ones: int
    seed: int = 0
    layer: int = 0
    per: str = "column"

    def __post_init__(self) -> None:
        for name, pair, most in (("shape", self.shape, None), ("sides", self.sides, MAX_SIDE)):
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise PactError(f"must be a pair of integers, got {pair!r}", where=name)
            for number in pair:
                check_integer(number, where=name, least=1, most=most)
        check_choice(self.per, ENSEMBLES, where="per")
        check_integer(self.seed, where="seed", least=0, most=MAX_SEED)
        check_integer(self.layer, where="layer", least=0, most=MAX_SEED)
        # Of each column there are ones in m places, of each row in p.
        shortened = [pair for pair in zip(self.shape, self.sides, strict=True) if pair[0] > pair[1]]
        most = min((p if self.per == "row" else m for p, m in shortened), default=None)
        check_integer(self.ones, where="ones", least=1, most=most)

    @property
    def size(self) -> tuple[int, int]:
        """Of the sketch: a side that is not shortened is as long as the matrix's."""
        return min(self.shape[0], self.sides[0]), min(self.shape[1], self.sides[1])

    @cached_property
    def left(self) -> csr_matrix:
        """A, (m1, p1)."""
        return self._matrix(0)

    @cached_property
    def right(self) -> csr_matrix:
        """B, (m2, p2)."""
        return self._matrix(1)

    @property
    def most_added(self) -> int:
        """How many entries of X are added up in one number of Y, at most."""
        return math.prod(int(np.diff(side.indptr).max()) for side in (self.left, self.right))

    def apply(self, matrix: Array) -> Array:
        """A X B^T in float64: exact for integers, in whatever order they are added, while the sums stay below 2^53."""
        return np.ascontiguousarray((self.right @ (self.left @ matrix).T).T)

    def measure(self, matrix: ArrayLike) -> Integers | Array:
        """The sketch of a matrix: of integers in int64, exactly; of other numbers in float64."""
        values = read_array(matrix, where="matrix")
        if values.shape != self.shape:
            raise PactError(f"must be a matrix of shape {self.shape}, got {values.shape}", where="matrix")
        check_finite(values, where="matrix")
        if not np.issubdtype(values.dtype, np.integer):
            return self.apply(values.astype(np.float64))
        return self.measure_integers(values.astype(np.int64))

    def measure_integers(self, matrix: Integers) -> Integers:
        largest = check_finite(matrix, where="matrix")
        if largest * self.most_added >= EXACT:
            raise PactError("the sums of integers may pass 2^53", where="matrix", hint="use smaller integers")
        return self.apply(matrix.astype(np.float64)).astype(np.int64)

    def _matrix(self, side: int) -> csr_matrix:
        from scipy import sparse  # takes a moment to import

        p, m = self.shape[side], self.size[side]
        if p == m:
            return sparse.identity(p, dtype=np.float64, format="csr")
        stream = Stream(self.seed, _PURPOSES[side], self.layer)
        by_row = self.per == "row"
        chosen = draw_subsets(stream, m, p, self.ones) if by_row else draw_subsets(stream, p, m, self.ones)
        owners = np.repeat(np.arange(len(chosen)), self.ones)
        places = (owners, chosen.ravel()) if by_row else (chosen.ravel(), owners)
        return sparse.csr_matrix((np.ones(chosen.size), places), shape=(m, p))


def draw_subsets(stream: Stream, count: int, size: int, ones: int) -> Integers:
    """`count` sets of `ones` different numbers below `size`, all sets alike likely (Floyd's algorithm).

    Set i takes keys i * ones, i * ones + 1, ... of the stream: key number t modulo size - ones + t + 1, or
    size - ones + t where that number is in the set already.
    """
    keys = stream.keys(0, count * ones).reshape(count, ones)
    chosen = np.empty((count, ones), dtype=np.int64)
    for t in range(ones):
        last = size - ones + t
        drawn = (keys[:, t] % np.uint64(last + 1)).astype(np.int64)
        taken = (chosen[:, :t] == drawn[:, None]).any(axis=1)
        chosen[:, t] = np.where(taken, last, drawn)
    return chosen


class DistributedSparsity(NamedTuple):
    """rows: the most entries that are not 0 in any row; columns: in any column."""

    rows: int
    columns: int


def distributed_sparsity(matrix: ArrayLike) -> DistributedSparsity:
    """How many entries of a row and of a column are not 0, at most (Guha et al. 2023, Definition 5.1).

    A tensor is taken as a matrix, its first axis against all others. The paper calls the number for columns j_r and
    that for rows j_c. That the diagonal be nonzero, which it asks for too, is no part of the numbers.
    """
    values = read_array(matrix, where="matrix")
    if values.ndim < 2:
        raise PactError(f"must be a matrix or a tensor, got {values.ndim} dimensions", where="matrix")
    check_finite(values, where="matrix")
    marked = values.reshape(len(values), -1) != 0
    most = [int(np.count_nonzero(marked, axis=axis).max(initial=0)) for axis in (1, 0)]
    return DistributedSparsity(*most)


def sketch_side(sparsity: int, size: int) -> int:
    """m = sqrt(j p) log p, rounded up: the order of the paper's Theorem 5.1, with the constant 1 and natural logs."""
    check_integer(sparsity, where="sparsity", least=1)
    check_integer(size, where="size", least=1)
    return max(1, math.ceil(math.sqrt(sparsity * size) * math.log(size)))


def read_array(values: object, *, where: str) -> NDArray[Any]:
    """What numpy makes an array of; a tensor may need gradients."""
    try:
        return np.asarray(values.detach() if hasattr(values, "detach") else values)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise PactError(f"must be an array of numbers, got {type(values).__name__}", where=where) from error


def check_finite(values: NDArray[np.generic], *, where: str) -> int:
    """The largest magnitude, rounded up; refuses what is no array of finite numbers."""
    if not (np.issubdtype(values.dtype, np.integer) or np.issubdtype(values.dtype, np.floating)):
        raise PactError(f"must be an array of numbers, got {values.dtype}", where=where)
    ends = (values.min(initial=0), values.max(initial=0))
    if not all(math.isfinite(end) for end in ends):
        raise PactError("it holds NaN or infinity", where=where)
    return max(math.ceil(abs(float(end))) if isinstance(end, np.floating) else abs(int(end)) for end in ends)
