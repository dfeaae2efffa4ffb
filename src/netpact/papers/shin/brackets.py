"""Equations (12) to (16): entries of a stable matrix by powers of its scale, and the contour of Figure 2."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.algebra.stable_densities import stable_density, stable_tail_constant
from netpact.core.checks import check_integer, check_number
from netpact.papers.shin.sparsity import chance_of_more, exact_chance

_NODES = 64  # of a quadrature over one bracket, on which the density is smooth


def bracket_share(alpha: float, place: int, *, scale: float) -> float:
    """(14), from the tail (12) of a symmetric stable law: the share of entries between scale^i and scale^(i+1).

    c_alpha c^(-alpha (i - 1)) (1 - c^-alpha),   c_alpha = sin(pi alpha / 2) Gamma(alpha) / pi
    """
    _check(alpha, place, scale=scale)
    return stable_tail_constant(alpha) * scale ** (-alpha * (place - 1)) * (1 - scale**-alpha)


def exact_share(alpha: float, place: int, *, scale: float) -> float:
    """The same of the distribution itself, by quadrature: (12) holds far out only, and the brackets begin at 1."""
    _check(alpha, place, scale=scale)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    low, high = scale**place, scale ** (place + 1)
    x = (high - low) / 2 * nodes + (high + low) / 2
    return float((high - low) / 2 * weights @ np.asarray(stable_density(x, alpha=alpha, scale=scale)))


@dataclass(frozen=True)
class Contour:
    """Figure 2: the chance that a row of N entries has c^(M-i) of them in bracket i, over alpha and i.

    bound    (16), an upper bound, which the figure shows
    chance   the binomial probability itself, with the share of (14)
    stable   the same with the share of the stable distribution
    """

    alphas: NDArray[np.float64]
    places: NDArray[np.int64]
    bound: NDArray[np.float64]
    chance: NDArray[np.float64]
    stable: NDArray[np.float64]


def contour(
    *, scale: float = 1.3, top: int = 5, entries: int = 64, alphas: NDArray[np.float64] | None = None
) -> Contour:
    """The printed parameters: c = 1.3, M = 5, N = 64."""
    check_integer(top, where="top", least=1)
    chosen = np.linspace(0.1, 1.95, 38) if alphas is None else alphas
    places = np.arange(top + 1)
    tables = np.empty((3, len(chosen), len(places)))
    for row, alpha in enumerate(chosen):
        for column, place in enumerate(places):
            count = scale ** (top - int(place))
            share = bracket_share(float(alpha), int(place), scale=scale)
            tables[0, row, column] = chance_of_more(count, entries=entries, share=share)
            tables[1, row, column] = exact_chance(count, entries=entries, share=share)
            true = exact_share(float(alpha), int(place), scale=scale)
            tables[2, row, column] = exact_chance(count, entries=entries, share=true)
    return Contour(chosen, places, *tables)


def _check(alpha: float, place: int, *, scale: float) -> None:
    check_number(alpha, where="alpha", above=0, most=2)
    check_integer(place, where="place", least=0)
    check_number(scale, where="scale", above=1)  # powers of a number up to 1 do not grow: no bracket has an entry


def missed_entries(values: NDArray[np.float64]) -> float:
    """The share of a matrix that (13) leaves out: brackets and D begin at c^0 = 1, and have no negative entries."""
    return float(np.mean(values <= 1.0)) if values.size else math.nan
