"""The steps of a layer's rows, on the ladder that the form "scaled" has: (1 + m/4) 2^e, m from 0 to 3."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.coding.forms.scaled import MOST_SCALE, SCALES_PER_OCTAVE, scale_values
from netpact.methods.second_order import weighted_error

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
_TRIED = range(-8, 2)  # rungs around the one that holds the largest weight: clamping it may cost less than coarse steps
MOST_SYMBOL = 1 << 15
_LEAST_SENSITIVITY = 0.01  # of a layer's mean: a channel that did not matter on a few samples may matter


@dataclass(frozen=True, eq=False)
class Steps:
    """rungs  one for each row; most  the largest magnitude of a symbol"""

    rungs: Integers
    most: int

    @property
    def values(self) -> Array:
        return scale_values(self.rungs)


def fit_steps(weight: Array, variances: list[Array], *, bits: int, per_channel: bool) -> Steps:
    """With the least squared error of the outputs when every weight goes to its nearest point.

    variances  of the inputs, for each group of rows
    """
    most = (1 << (bits - 1)) - 1
    largest = np.abs(weight).max(axis=1, initial=0.0)
    rungs = _rungs_above(_positive(largest) / most)
    starts = rungs if per_channel else np.full_like(rungs, rungs.max(initial=0))
    errors = np.zeros((len(_TRIED), len(weight)))
    for rows, own in zip(np.array_split(np.arange(len(weight)), len(variances)), variances, strict=True):
        for place, offset in enumerate(_TRIED):
            steps = scale_values(_held(starts[rows] + offset))
            errors[place, rows] = weighted_error(weight[rows], steps, own + 1e-12, most=most)
    best = errors.argmin(axis=0) if per_channel else np.full(len(weight), errors.sum(axis=1).argmin())
    return Steps(_held(starts + np.array(_TRIED)[best]), most)


def allocate_steps(
    weight: Array,
    curves: list[float],
    sensitivities: Array,
    *,
    share: float,
    per_channel: bool,
    most: int = MOST_SYMBOL,
) -> Steps:
    """So that every weight of the network adds the same expected change to the logits, as the least bits ask for it.

        step^2 = 12 share / (sensitivity of the row * curve of the layer)

    Where an entropy code follows, bits are fewest when all weights have the same error in units of what it does to
    the output, whatever their size is (reverse water-filling; Cover and Thomas 2006, 10.3.3).

    curves         of each group of rows: see typical_curve
    sensitivities  of the logits to each output of the layer, squared
    share          of the tolerance, for one weight
    most           the largest magnitude of a symbol, about: no step is finer
    """
    mean = float(sensitivities.mean()) or 1.0
    weighed = sensitivities + _LEAST_SENSITIVITY * mean if per_channel else np.full(len(weight), mean)
    parts = zip(np.array_split(weight, len(curves)), curves, strict=True)
    spread = np.concatenate([np.full(len(part), own) for part, own in parts])
    ideal = np.sqrt(12 * share / (weighed * spread))
    # No step is so fine that symbols run out, nor so coarse that a whole row of zeros could be had for less.
    largest = _positive(np.abs(weight).max(axis=1, initial=0.0))
    rungs = _nearest_rungs(np.clip(ideal, largest / most, 4 * largest))
    return Steps(rungs, max(1, int(np.rint(largest / scale_values(rungs)).max(initial=0)) + 1))


def typical_curve(variances: Array) -> float:
    """The geometric mean of what an error costs in each column when later ones make up for it."""
    return math.exp(float(np.log(variances + 1e-30).mean())) if len(variances) else 1.0


def _positive(sizes: Array) -> Array:
    """A row of zeros takes the typical step, the cheapest one to write."""
    used = sizes[sizes > 0]
    return np.where(sizes > 0, sizes, float(np.median(used)) if len(used) else 1.0)


def _rungs_above(sizes: Array) -> Integers:
    mantissas, exponents = np.frexp(sizes)
    return _held(SCALES_PER_OCTAVE * (exponents - 1) + np.ceil((2 * mantissas - 1) * SCALES_PER_OCTAVE))


def _nearest_rungs(sizes: Array) -> Integers:
    mantissas, exponents = np.frexp(sizes)
    return _held(SCALES_PER_OCTAVE * (exponents - 1) + np.rint((2 * mantissas - 1) * SCALES_PER_OCTAVE))


def _held(rungs: NDArray[np.float64] | Integers) -> Integers:
    return np.clip(rungs, -MOST_SCALE, MOST_SCALE).astype(np.int64)
