"""A layer's weights in integers: for each output channel a step from a ladder, then multiples of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.methods.second_order import round_nearest, round_second_order, weighted_error

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
_RUNGS = 4  # steps of the ladder to a factor of two: (4 + m) 2^e
_TRIED = range(-8, 2)  # rungs around the one that holds the largest weight: clamping it may cost less than coarse steps
MOST_BIAS = 1 << 20  # of a bias in units of its row's sums
_SPAN = 16 * _RUNGS  # between the finest and the coarsest channel of a layer


@dataclass(frozen=True)
class Rows:
    """symbols  the weight as integers; rungs  of each row's step; steps  the real numbers that they are"""

    symbols: Integers
    rungs: Integers
    steps: Array


def fit_rows(weight: Array, moments: list[Array] | None, *, most: int, base: float, least: Array) -> Rows:
    """Steps (4 + m) 2^e base with the least squared error of the outputs, and the weights rounded to them.

    moments  of the inputs, one matrix for each group of rows; None rounds every weight to its nearest point
    least    no step of a row is below this
    """
    every = np.arange(len(weight))
    groups = [every] if moments is None else np.array_split(every, len(moments))
    variances = [np.ones(weight.shape[1])] if moments is None else [np.diag(own) for own in moments]
    largest = np.abs(weight).max(axis=1, initial=0.0)
    least = np.maximum(least, base * 2.0**-40)
    ideal = np.maximum(largest / most, least)
    rungs = np.zeros(len(weight), dtype=np.int64)
    for rows, own in zip(groups, variances, strict=True):
        start = _rung_above(ideal[rows] / base)
        tried = np.stack([_error(weight[rows], (start + k), base, own + 1e-12, most) for k in _TRIED])
        rungs[rows] = start + np.array(_TRIED)[tried.argmin(axis=0)]
    rungs = np.maximum(rungs, _rung_above(least / base))
    rungs = np.maximum(rungs, rungs.max(initial=0) - _SPAN)
    steps = rung_values(rungs) * base
    if moments is None:
        return Rows(round_nearest(weight, steps, most=most), rungs, steps)
    parts = [
        round_second_order(weight[rows], steps[rows], own, most=most) for rows, own in zip(groups, moments, strict=True)
    ]
    return Rows(np.concatenate(parts), rungs, steps)


def _error(weight: Array, rungs: Integers, base: float, variances: Array, most: int) -> Array:
    return weighted_error(weight, rung_values(rungs) * base, variances, most=most)


def rung_values(rungs: Integers) -> Array:
    """(4 + m) 2^e for the rung 4 e + m."""
    return np.ldexp(_RUNGS + rungs % _RUNGS, rungs // _RUNGS).astype(np.float64)


def _rung_above(ratios: Array) -> Integers:
    """The lowest rung that is not below."""
    mantissas, exponents = np.frexp(ratios)
    return (_RUNGS * (exponents - 3) + np.ceil((2 * mantissas - 1) * _RUNGS)).astype(np.int64)
