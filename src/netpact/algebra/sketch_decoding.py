"""Integers from their sketch, by integer arithmetic alone: every machine gets the same answer, bit for bit.

The sparsest matrix with a given sketch is looked for by basis pursuit (`splitting`) in fixed point. All products of
matrices are of integers whose sums stay below 2^53: float64 computes them exactly, whatever the order and the library.
All else is done entry by entry, where IEEE arithmetic leaves no choice. What comes out is rounded to integers, and
accepted only if its sketch is exactly the given one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from netpact.algebra.sketching import EXACT, Array, Integers, Sketcher
from netpact.algebra.splitting import split

CHECK_EVERY = 8  # rounds
_FRACTION_BITS, _MOST_BITS = 12, 36  # of the entries; fewer fraction bits where the sketch has large numbers
_INVERSE_BITS = 24
_RIDGE = 2.0**-18  # added to A A^T, which may be singular; far above rounding, and far below its other eigenvalues
_THRESHOLD_BITS = 2  # of the largest entry at the start the first threshold is a quarter to an eighth
_LEAST_THRESHOLD = 64.0  # in units of the fixed point: below, the multiplier would lose its precision
# Steps of about a nanosecond: for each multiply-add of a product, each entry added by a sparse one, each entry in a
# round, each pivot's update of an entry.
_PRODUCTS_PER_STEP, _ADDING_STEPS, _ENTRY_STEPS, _PIVOT_STEPS, _ROUND_STEPS = 6, 3, 60, 6, 100_000
_ENTRY_BYTES, _SIDE_BYTES, _KEY_BYTES = 80, 40, 64  # in use at once


class Decoded(NamedTuple):
    """matrix: None where no round gave one with the sketch; rounds: how many were done."""

    matrix: Integers | None
    rounds: int


def decode_sketch(values: Integers, sketcher: Sketcher, *, rounds: int) -> Decoded:
    """The integers whose sketch these are, if basis pursuit finds them within so many rounds."""
    target = values.astype(np.float64)
    if sketcher.size == sketcher.shape:
        return Decoded(values.copy(), 0)
    if not values.any():
        return Decoded(np.zeros(sketcher.shape, dtype=np.int64), 0)
    points = _FixedPoint(sketcher, target)
    start = points.lift(points.target)
    # A power of two, so that halves of it are exact.
    threshold = max(_LEAST_THRESHOLD, math.ldexp(0.5, math.frexp(float(np.abs(start).max()))[1] - _THRESHOLD_BITS))
    rounds_of = split(points.project, start, threshold=threshold, least=_LEAST_THRESHOLD, half=_half)
    if not points.fits(start):
        return Decoded(None, 0)
    for done, iterate in enumerate(rounds_of, start=1):
        if not points.fits(iterate.feasible, iterate.multiplier):
            return Decoded(None, done)
        if done % CHECK_EVERY == 0 or done == rounds:
            found = np.rint(np.ldexp(iterate.sparse, -points.fraction))
            if np.array_equal(sketcher.apply(found), target):
                return Decoded(found.astype(np.int64), done)
        if done >= rounds:
            return Decoded(None, done)
    raise AssertionError("the rounds have no end")


def _half(values: Array) -> Array:
    return np.rint(0.5 * values)


class _FixedPoint:
    """The projection onto the matrices with a given sketch, in units of 2^-fraction.

    project(Z) = Z - W_A (A Z B^T - Y) W_B^T,   W_A = A^T (A A^T + ridge)^-1,   W_B likewise
    """

    def __init__(self, sketcher: Sketcher, values: Array) -> None:
        self._sketcher = sketcher
        self.fraction = max(0, min(_FRACTION_BITS, _MOST_BITS - int(np.abs(values).max()).bit_length()))
        self.target = np.ldexp(values, self.fraction)
        self._left, self._right = (_inverse_of(side) for side in (sketcher.left, sketcher.right))
        self._sums = [float(np.abs(side).sum(axis=1).max()) for side in (self._left, self._right)]
        # The next round adds up numbers up to three times as large as its two parts.
        self._most = EXACT / (4 * sketcher.most_added)

    def fits(self, *parts: Array) -> bool:
        return all(float(np.abs(part).max()) < self._most for part in parts)

    def project(self, matrix: Array) -> Array:
        return np.asarray(matrix - self.lift(self._sketcher.apply(matrix) - self.target))

    def lift(self, residual: Array) -> Array:
        """W_A R W_B^T: after each product the numbers are rounded to as many bits as the next one has room for."""
        shortened, dropped = _shorten(residual, self._sums[0])
        product = np.rint(np.ldexp(self._left @ shortened, -_INVERSE_BITS))
        shortened, more = _shorten(product, self._sums[1])
        return np.rint(np.ldexp(shortened @ self._right.T, dropped + more - _INVERSE_BITS))


def _inverse_of(side: object) -> Array:
    """A^T (A A^T + ridge)^-1 in units of 2^-24, (p, m)."""
    matrix: Array = (side @ side.T).toarray()  # type: ignore[attr-defined]
    matrix[np.diag_indices(len(matrix))] += _RIDGE
    return np.asarray(side.T @ np.rint(np.ldexp(_invert(matrix), _INVERSE_BITS)))  # type: ignore[attr-defined]


def _invert(matrix: Array) -> Array:
    """Gauss and Jordan's elimination of a positive definite matrix, in place: entry by entry, no library's choice."""
    for k in range(len(matrix)):
        pivot = matrix[k, k]
        row, column = matrix[k] / pivot, matrix[:, k].copy()
        matrix -= column[:, None] * row
        matrix[k] = row
        matrix[:, k] = -column / pivot
        matrix[k, k] = 1 / pivot
    return matrix


def _shorten(values: Array, row_sum: float) -> tuple[Array, int]:
    """Numbers times 2^-bits, rounded, so that sums weighted by no more than row_sum stay below 2^53; and the bits."""
    largest = float(np.abs(values).max(initial=0.0)) * row_sum
    bits = max(0, math.frexp(largest)[1] - EXACT.bit_length() + 2)
    return (np.rint(np.ldexp(values, -bits)) if bits else values), bits


def decoding_effort(sketcher: Sketcher, rounds: int) -> tuple[int, int]:
    """Steps and bytes of `decode_sketch` at most, from the sizes alone: nothing is drawn for it."""
    (p1, p2), (m1, m2) = sketcher.shape, sketcher.size
    products = p1 * m1 * m2 + p1 * m2 * p2
    added = 2 * sketcher.ones * (p1 + m1) * p2  # of the projection, and of the check
    each = products // _PRODUCTS_PER_STEP + _ADDING_STEPS * added + _ENTRY_STEPS * p1 * p2 + _ROUND_STEPS
    drawn = sketcher.ones * (p1 + p2)
    once = _PIVOT_STEPS * (m1**3 + m2**3) + sketcher.ones * (p1 * m1 + p2 * m2) + _ENTRY_STEPS * drawn
    memory = _ENTRY_BYTES * p1 * p2 + _SIDE_BYTES * (p1 * m1 + p2 * m2 + m1 * m1 + m2 * m2) + _KEY_BYTES * drawn
    return once + rounds * each, memory + _SIDE_BYTES * m1 * m2
