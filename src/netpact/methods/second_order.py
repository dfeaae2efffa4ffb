"""Rounding weights so that the outputs change little, not the weights: by the second moments of a layer's inputs.

For rows w of a weight and inputs x, rounding to r changes an output by (r - w) x, in the mean square by

    (r - w) H (r - w)^T,   H = covariance of x

The mean itself is left to the bias. One column after another is rounded to its nearest point, and what that costs is
made up for by the columns still to come, as well as they can (Hassibi and Stork 1993; Frantar and Alistarh 2022).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
_DAMPING = 0.01  # of the mean variance, added to every input's: few samples say little about rare directions
_LEAST_VARIANCE = 1e-30  # of float32 numbers that differ at all
_BLOCK = 64  # columns, after which those still to come learn of the errors: one product of matrices


@dataclass(frozen=True, eq=False)
class Toll:
    """What a symbol costs beside its error: price * bits, in units of H.

    bits  of the symbols from -most to most
    """

    price: float
    bits: Array


def round_nearest(weight: Array, steps: Array, *, most: int) -> Integers:
    """Rows in multiples of their own steps, at most `most` of them to either side."""
    return np.clip(np.rint(weight / steps[:, None]), -most, most).astype(np.int64)


def round_second_order(
    weight: Array,
    steps: Array,
    moments: Array,
    *,
    most: int,
    toll: Toll | None = None,
    zeros: NDArray[np.bool_] | None = None,
) -> Integers:
    """The same grid, one column after another; the widest inputs come first.

    weight   rows x columns
    moments  columns x columns: the covariance of the inputs, or their second moments where no bias can follow
    toll     a symbol is the one with the least error^2 + price * bits; without it, the nearest
    zeros    which symbols are 0 whatever comes: those of pruned weights
    """
    columns = len(moments)
    order = np.argsort(-np.diag(moments), kind="stable")
    left = (weight / steps[:, None])[:, order]
    upper = _factor(moments[np.ix_(order, order)])
    symbols = np.zeros(weight.shape, dtype=np.int64)
    for start in range(0, columns, _BLOCK):
        stop = min(start + _BLOCK, columns)
        off = np.zeros((len(weight), stop - start))
        for place in range(start, stop):
            chosen = choose_symbols(left[:, place], upper[place, place] ** -2, most, toll)
            chosen = chosen if zeros is None else np.where(zeros[:, order[place]], 0, chosen)
            symbols[:, order[place]] = chosen
            off[:, place - start] = (left[:, place] - chosen) / upper[place, place]
            left[:, place + 1 : stop] -= np.outer(off[:, place - start], upper[place, place + 1 : stop])
        left[:, stop:] -= off @ upper[start:stop, stop:]
    return symbols


def refine(
    weight: Array,
    steps: Array,
    moments: Array,
    symbols: Integers,
    *,
    most: int,
    toll: Toll | None = None,
    zeros: NDArray[np.bool_] | None = None,
) -> Integers:
    """Each symbol again, the others as they are: the sum of error^2 + price * bits does not rise."""
    values, symbols = weight / steps[:, None], symbols.copy()
    slopes = (symbols - values) @ moments
    for start in range(0, len(moments), _BLOCK):
        block = slice(start, min(start + _BLOCK, len(moments)))
        own, moved = slopes[:, block].copy(), np.zeros((len(weight), block.stop - start))
        for place in range(start, block.stop):
            curve = moments[place, place]
            if curve <= 0:
                continue
            best = symbols[:, place] - own[:, place - start] / curve
            chosen = choose_symbols(best, curve, most, toll, known=symbols[:, place])
            chosen = chosen if zeros is None else np.where(zeros[:, place], 0, chosen)
            moved[:, place - start] = chosen - symbols[:, place]
            symbols[:, place] = chosen
            own += np.outer(moved[:, place - start], moments[place, block])
        slopes += moved @ moments[block]
    return symbols


def choose_symbols(
    values: Array, curve: float, most: int, toll: Toll | None, *, known: Integers | None = None
) -> Integers:
    """For each number the symbol with the least  curve * (symbol - number)^2 + price * bits, among a few.

    known  the one that it has: none that costs more is taken
    """
    nearest = np.clip(np.rint(values), -most, most).astype(np.int64)
    if toll is None:
        return nearest
    inward = nearest - np.sign(nearest)
    outward = np.clip(nearest + np.where(values < 0, -1, 1), -most, most)  # a common symbol may be there
    known = nearest if known is None else known
    tried = np.stack([known, nearest, outward, inward, inward - np.sign(inward), 0 * nearest])
    costs = curve * np.square(tried - values) + toll.price * toll.bits[tried + most]
    return tried[costs.argmin(axis=0), np.arange(len(values))]


def make_up(weight: Array, moments: Array, beside: Array) -> Array:
    """Weights that do with inputs x' what the given ones do with inputs x, as well as a linear layer can.

        w' = w + w (E[x x'^T] - H) H^-1,   H = E[x' x'^T]

    moments  H, of the inputs that there are; beside  E[x x'^T], of those that there should be (rows) with them
    """
    return np.asarray(weight + np.linalg.solve(_damped(moments), (weight @ (beside - moments)).T).T)


def output_errors(weight: Array, rounded: Array, moments: Array) -> Array:
    """For each row (r - w) H (r - w)^T."""
    off = rounded - weight
    return np.asarray(np.einsum("ij,ij->i", off @ moments, off))


def unpredictable_variances(moments: Array) -> Array:
    """Of each input what the later ones cannot make up for: the curves that rounding in order meets."""
    order = np.argsort(-np.diag(moments), kind="stable")
    found = np.zeros(len(moments))
    found[order] = np.diag(_factor(moments[np.ix_(order, order)])) ** -2.0
    return found


def _factor(moments: Array) -> Array:
    """The upper triangle U with (moments)^-1 = U^T U: its rows say how a column's error is best made up for."""
    inverse = np.linalg.inv(_damped(moments))
    return np.asarray(np.linalg.cholesky((inverse + inverse.T) / 2).T)


def _damped(moments: Array) -> Array:
    """Inputs that never vary, as behind a layer without weights, tell nothing: then no column makes up for another."""
    variance = float(np.mean(np.diag(moments))) if len(moments) else 1.0
    if not variance > _LEAST_VARIANCE:
        return np.eye(len(moments))
    return moments + np.eye(len(moments)) * (_DAMPING * variance)


def weighted_error(weight: Array, steps: Array, variances: Array, *, most: int) -> Array:
    """For each row the squared error of rounding to the nearest, entries weighted by their inputs' variances."""
    off = weight - steps[:, None] * round_nearest(weight, steps, most=most)
    return np.asarray((np.square(off) * variances).sum(axis=1))
