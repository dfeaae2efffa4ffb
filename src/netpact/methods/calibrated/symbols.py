"""The symbols of one layer: rounded in several ways, and the best of them taken."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from netpact.methods.calibrated.steps import Steps
from netpact.methods.rate_costs import Costs, decision_costs
from netpact.methods.second_order import (
    Toll,
    output_errors,
    refine,
    round_nearest,
    round_second_order,
    unpredictable_variances,
)

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
_SWEEPS = 2


def round_rows(
    weight: Array, moments: list[Array], steps: Steps, *, rate: float, zeros: NDArray[np.bool_] | None = None
) -> Integers:
    """Symbols whose objective is at most that of rounding every weight to the nearest point of the same grid.

        objective = sum over rows of (r - w) H (r - w)^T / (step^2 curve) + rate * bits

    with curve the mean of what an error costs in a column when later columns make up for it; at rate 0 without bits.

    moments  of the inputs, one matrix for each group of rows
    zeros    which symbols stay 0; the weights are 0 there
    """
    groups = np.array_split(np.arange(len(weight)), len(moments))
    curves = [float(unpredictable_variances(own).mean()) if len(own) else 1.0 for own in moments]
    nearest = round_nearest(weight, steps.values, most=steps.most)
    best, least = nearest, objective(weight, moments, steps, nearest, rate=rate)

    def consider(symbols: Integers) -> None:
        nonlocal best, least
        found = objective(weight, moments, steps, symbols, rate=rate)
        if found < least:
            best, least = symbols, found

    for turn in range(2 if rate else 1):  # what bits cost is known when there are symbols
        bits = _symbol_bits(best if turn else nearest, steps.most) if rate else None
        consider(_by_groups(weight, moments, steps, groups, _tolls(rate, curves, bits), zeros=zeros))
    for _ in range(_SWEEPS):
        bits = _symbol_bits(best, steps.most) if rate else None
        consider(_by_groups(weight, moments, steps, groups, _tolls(rate, curves, bits), known=best, zeros=zeros))
    return best


def objective(weight: Array, moments: list[Array], steps: Steps, symbols: Integers, *, rate: float) -> float:
    groups = np.array_split(np.arange(len(weight)), len(moments))
    total = 0.0
    for rows, own in zip(groups, moments, strict=True):
        curve = (float(unpredictable_variances(own).mean()) if rate and len(own) else 1.0) or 1.0
        units = np.square(steps.values[rows]) * curve if rate else np.ones(len(rows))
        total += float((output_errors(weight[rows], _points(symbols, steps)[rows], own) / units).sum())
    return total + (rate * _costs(steps.most).total_bits(_counts(symbols, steps.most)) if rate else 0.0)


def _by_groups(
    weight: Array,
    moments: list[Array],
    steps: Steps,
    groups: list[Integers],
    tolls: list[Toll | None],
    *,
    known: Integers | None = None,
    zeros: NDArray[np.bool_] | None = None,
) -> Integers:
    found = np.zeros(weight.shape, dtype=np.int64)
    for rows, own, toll in zip(groups, moments, tolls, strict=True):
        part, values, fixed = weight[rows], steps.values[rows], None if zeros is None else zeros[rows]
        if known is None:
            found[rows] = round_second_order(part, values, own, most=steps.most, toll=toll, zeros=fixed)
        else:
            found[rows] = refine(part, values, own, known[rows], most=steps.most, toll=toll, zeros=fixed)
    return found


def _tolls(rate: float, curves: list[float], bits: Array | None) -> list[Toll | None]:
    return [None if bits is None else Toll(rate * curve, bits) for curve in curves]


def _points(symbols: Integers, steps: Steps) -> Array:
    return np.asarray(symbols * steps.values[:, None])


def _symbol_bits(symbols: Integers, most: int) -> Array:
    return _costs(most).symbol_bits(_counts(symbols, most))


def _counts(symbols: Integers, most: int) -> Array:
    return np.bincount(symbols.ravel() + most, minlength=2 * most + 1).astype(np.float64)


@lru_cache(maxsize=16)
def _costs(most: int) -> Costs:
    return decision_costs(most)
