"""Rounding weights so that the outputs change little, not the weights: by the second moments of a layer's inputs.

For rows w of a weight and inputs x, rounding to r changes an output by (r - w) x, in the mean square by

    (r - w) H (r - w)^T,   H = covariance of x

The mean itself is left to the bias. One column after another is rounded to its nearest point, and what that costs is
made up for by the columns still to come, as well as they can (Hassibi and Stork 1993; Frantar and Alistarh 2022).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
_DAMPING = 0.01  # of the mean variance, added to every input's: few samples say little about rare directions


def round_nearest(weight: Array, steps: Array, *, most: int) -> Integers:
    """Rows in multiples of their own steps, at most `most` of them to either side."""
    return np.clip(np.rint(weight / steps[:, None]), -most, most).astype(np.int64)


def round_second_order(weight: Array, steps: Array, moments: Array, *, most: int) -> Integers:
    """The same grid, one column after another; the widest inputs come first.

    weight   rows x columns
    moments  columns x columns: the covariance of the inputs, or their second moments where no bias can follow
    """
    columns = len(moments)
    order = np.argsort(-np.diag(moments), kind="stable")
    left = weight[:, order].copy()
    upper = _factor(moments[np.ix_(order, order)])
    symbols = np.zeros(weight.shape, dtype=np.int64)
    for place in range(columns):
        chosen = np.clip(np.rint(left[:, place] / steps), -most, most)
        symbols[:, order[place]] = chosen.astype(np.int64)
        off = (left[:, place] - chosen * steps) / upper[place, place]
        left[:, place:] -= np.outer(off, upper[place, place:])
    return symbols


def _factor(moments: Array) -> Array:
    """The upper triangle U with (moments)^-1 = U^T U: its rows say how a column's error is best made up for."""
    damped = moments + np.eye(len(moments)) * (_DAMPING * float(np.mean(np.diag(moments))) or 1.0)
    inverse = np.linalg.inv(damped)
    return np.asarray(np.linalg.cholesky((inverse + inverse.T) / 2).T)


def weighted_error(weight: Array, steps: Array, variances: Array, *, most: int) -> Array:
    """For each row the squared error of rounding to the nearest, entries weighted by their inputs' variances."""
    off = weight - steps[:, None] * round_nearest(weight, steps, most=most)
    return np.asarray((np.square(off) * variances).sum(axis=1))
