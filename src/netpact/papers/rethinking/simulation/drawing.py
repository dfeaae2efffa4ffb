"""Samples of a network y = <X, W_X> + noise: independent inputs or a VAR(1) process, kept in as few rows as will do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netpact.core.checks import check_integer, check_number
from netpact.papers.rethinking.simulation.fitting import Samples
from netpact.papers.rethinking.simulation.geometry import Geometry

Array = NDArray[np.float64]
BURN_IN = 50  # "The first 50 simulated data points in the sequence are discarded" (A.5.1)


def draw_independent(geometry: Geometry, rng: np.random.Generator, *, batch: int, samples: int) -> Array:
    """Coordinates of independent standard normal inputs: standard normal themselves, because bases are orthonormal."""
    return rng.standard_normal((batch, samples, geometry.coordinates))


def draw_rows(geometry: Geometry, rng: np.random.Generator, *, batch: int, samples: int) -> Array:
    """Rows that stand for independent inputs: at most as many as coordinates, with the distribution of their sums.

    Of more samples the triangle R of X = Q R: chi on the diagonal, with n, n-1, ... degrees of freedom, and standard
    normal entries above it (Bartlett 1933). y = R w + standard normal noise has the distribution of Q'(X w + noise).
    """
    size = geometry.coordinates
    rows = rng.standard_normal((batch, min(samples, size), size))
    if samples > size:
        rows = np.triu(rows, 1)
        np.einsum("zii->zi", rows)[:] = np.sqrt(rng.chisquare(samples - np.arange(size), (batch, size)))
    return rows


def draw_transition(size: int, norm: float, rng: np.random.Generator) -> Array:
    """A Gaussian matrix, scaled to this spectral norm. The paper says only that the norm is below 1."""
    check_integer(size, where="size", least=1)
    check_number(norm, where="norm", least=0, below=1)
    drawn = rng.standard_normal((size, size))
    return norm / float(np.linalg.norm(drawn, 2)) * drawn


def draw_var(transition: Array, rng: np.random.Generator, *, batch: int, samples: int, burn_in: int = BURN_IN) -> Array:
    """Sequences x_t = A x_(t-1) + noise from 0, their first values left out: (batch, samples, d)."""
    size = len(transition)
    found = np.empty((batch, samples, size))
    state = np.zeros((batch, size))
    for step in range(burn_in + samples):
        state = state @ transition.T + rng.standard_normal((batch, size))
        if step >= burn_in:
            found[:, step - burn_in] = state
    return found


def reduce_samples(located: Array, targets: Array) -> tuple[Array, Array]:
    """As many rows as coordinates, with the same sums X'X and X'y: the triangle R'R = X'X and R'^-1 X'y.

    |y - X w|^2 and |R'^-1 X'y - R w|^2 differ by a constant, so least squares over any set of w is the same. Few
    samples stay as they are.
    """
    if located.shape[1] <= located.shape[2]:
        return located, targets
    across = located.transpose(0, 2, 1)
    lower = np.linalg.cholesky(across @ located)
    moved = np.linalg.solve(lower, across @ targets[..., None])[..., 0]
    return lower.transpose(0, 2, 1), moved


def make_samples(geometry: Geometry, located: Array, targets: Array, *, reduced: bool = True) -> Samples:
    return Samples(geometry, *(reduce_samples(located, targets) if reduced else (located, targets)))
