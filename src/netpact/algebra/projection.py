"""Matrix-Project (Arora et al. 2018, Algorithm 1): a tensor given by its products with random matrices of signs.

    A^ = (1/k) sum_i <A, M_i> M_i,    i = 1..k,    M_i with entries +1 and -1 from the helper stream

A tensor is one vector here, row-major; the matrices of a convolution are as large as its kernel, one projection for all
places of the image. They are never stored: signs come in blocks from the stream, eight matrices to an octet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from netpact.algebra.stream import Stream
from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_GROUP = 8  # matrices whose signs stand together in one octet
_BLOCK = 1 << 17  # octets at a time: a megabyte for each array that is made of them
_MOST_GROUPS = 1 << 7  # of one block: their tables of 256 numbers stay small beside it
_OCTET_STEPS = 10  # to make eight signs, and to look them up for a row
_ROW_STEPS = 20_000  # beside them, for each row and block
_BLOCK_BYTES = 1 << 24
_EXACT = 1 << 53  # integers below it are float64 numbers, and so are all sums on the way to them


class Projector(Protocol):
    """Matrices M_1..M_count of signs, as vectors of `size` entries."""

    @property
    def size(self) -> int: ...

    @property
    def count(self) -> int: ...

    def measure(self, vectors: Array) -> Array:
        """<vector, M_i> for every row of `vectors` (rows, size) and every i: (rows, count)."""

    def combine(self, coefficients: Integers) -> Array:
        """sum_i coefficients_i M_i for every row of (rows, count): (rows, size).

        Exact integers, the same on every machine and for every size of blocks.
        """

    def effort(self, rows: int) -> tuple[int, int]:
        """What `combine` takes for so many rows: steps of about a nanosecond, and bytes in use at once."""


@dataclass(frozen=True, kw_only=True)
class SignProjector:
    """Independent signs, as printed. The sign of entry j of matrix i (both from 0) is number

        8 (floor(i/8) size + j) + i mod 8

    of the stream "projection signs": matrices i = 8g .. 8g + 7 are one octet for each entry.
    """

    size: int
    count: int
    seed: int
    layer: int

    def __post_init__(self) -> None:
        for name in ("size", "count"):
            check_integer(getattr(self, name), where=name, least=1)

    def measure(self, vectors: Array) -> Array:
        """Entries with equal octets are added up first, so that 256 sums stand for each eight products."""
        products = np.zeros((len(vectors), self._groups, _GROUP))
        for groups, columns, cells in self._blocks():
            height = groups.stop - groups.start
            for row, vector in enumerate(vectors):
                entries = np.broadcast_to(vector[columns], cells.shape)
                sums = np.bincount(cells.ravel(), weights=entries.ravel(), minlength=256 * height)
                products[row, groups] += sums.reshape(height, 256) @ _octet_signs()
        return products.reshape(len(vectors), -1)[:, : self.count]

    def combine(self, coefficients: Integers) -> Array:
        """What an octet contributes is looked up in a table of 256 integers."""
        refuse_inexact(coefficients)
        padded = np.zeros((len(coefficients), self._groups, _GROUP))
        padded.reshape(len(coefficients), -1)[:, : self.count] = coefficients
        sums = np.zeros((len(coefficients), self.size))
        for groups, columns, cells in self._blocks():
            for row, own in enumerate(padded):
                tables = own[groups] @ _octet_signs().T
                sums[row, columns] += tables.ravel()[cells].sum(axis=0)
        return sums

    def effort(self, rows: int) -> tuple[int, int]:
        octets = self._groups * self.size
        blocks = -(-self.size // _BLOCK) * -(-self._groups // self._height)
        work = _OCTET_STEPS * octets * (rows + 1) + _ROW_STEPS * blocks * rows
        return work, 8 * rows * (self.size + 3 * self.count + _GROUP) + _BLOCK_BYTES

    @property
    def _groups(self) -> int:
        return -(-self.count // _GROUP)

    @property
    def _height(self) -> int:
        """Groups in one block."""
        return min(max(1, _BLOCK // self.size), _MOST_GROUPS)

    def _blocks(self) -> Iterator[tuple[slice, slice, Integers]]:
        """(groups, entries, cells): cell = octet + 256 * the group's place in the block, shape groups x entries."""
        stream = Stream(self.seed, "projection signs", self.layer)
        height = self._height
        for start in range(0, self.size, _BLOCK):
            columns = slice(start, min(start + _BLOCK, self.size))
            for first in range(0, self._groups, height):
                groups = slice(first, min(first + height, self._groups))
                rows = groups.stop - first
                # More than one group comes only with all of the entries, and then they follow each other.
                octets = stream.octets(first * self.size + start, rows * (columns.stop - start))
                yield groups, columns, octets.reshape(rows, -1) + 256 * np.arange(rows)[:, None]


def refuse_inexact(coefficients: Integers) -> None:
    """All sums of signed coefficients stay below 2^53 if that of their magnitudes does.

    That one is exact below 2^53 itself, and rounding never brings a larger one below it: all machines refuse the same.
    """
    total = float(np.abs(coefficients.astype(np.float64)).sum(axis=1).max(initial=0.0))
    if not total < _EXACT:
        raise PactError(
            f"the magnitudes of the coefficients add up to {total:.6g}; exact sums need a total below 2^53",
            where="coefficients",
        )


def printed_count(*, eps: float, eta: float) -> int:
    """The number of matrices that Algorithm 1 prints. Its failure probability exceeds eta: see `valid_count`.

    k = log(1/eta) / eps^2
    """
    check_accuracy(eps=eps, eta=eta)
    return max(1, math.ceil(math.log(1 / eta) / eps**2))


def valid_count(*, eps: float, eta: float) -> int:
    """How many matrices of independent signs keep one fixed product of the layer, with probability 1 - eta.

    For any fixed u, v:  P[|u^T (A^ - A) v| > eps |A|_F |u| |v|] <= 4 exp(-k (eps^2/4 - eps^3/6)) <= eta

    Achlioptas 2003, Lemma 5.1 (the squared length of a vector is kept within a factor 1 +- eps but for twice that
    exponential), used on A/|A|_F + u v^T and A/|A|_F - u v^T, whose squared lengths add up to 4 for unit u, v.
    """
    check_accuracy(eps=eps, eta=eta)
    return math.ceil(math.log(4 / eta) / (eps**2 / 4 - eps**3 / 6))


def check_accuracy(*, eps: float, eta: float) -> None:
    for name, value in (("eps", eps), ("eta", eta)):
        check_number(value, where=name, above=0, most=1)


@cache
def _octet_signs() -> Array:
    """(256, 8): the eight signs of each octet, the lowest bit first; a one is -1."""
    octets = np.arange(256, dtype=np.uint8)[:, None]
    signs = np.where(np.unpackbits(octets, axis=1, bitorder="little"), -1.0, 1.0)
    signs.setflags(write=False)  # it is kept
    return signs
