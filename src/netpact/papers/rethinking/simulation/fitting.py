"""Least squares over all networks of a family: Gauss-Newton steps with damping, many problems at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.papers.rethinking.simulation.families import Family
from netpact.papers.rethinking.simulation.geometry import Geometry

Array = NDArray[np.float64]
_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-2, 1e-12, 1e8
_EASIER, _HARDER = 0.2, 5.0


@dataclass(frozen=True)
class Samples:
    """located: (batch, k, r) and targets: (batch, k): |targets - located U_G W|^2 is what least squares minimises.

    The rows are the coordinates of the samples (`Geometry`), or fewer rows with the same sums X'X and X'y: see
    `reduce_samples`.
    """

    geometry: Geometry
    located: Array
    targets: Array

    def take(self, places: NDArray[np.intp]) -> Samples:
        return Samples(self.geometry, self.located[places], self.targets[places])


@dataclass(frozen=True)
class Fit:
    """kernels: (batch, L, R), output: (batch, P, R), loss: (batch,), steps that were taken at most."""

    kernels: Array
    output: Array
    loss: Array
    steps: int

    @property
    def weights(self) -> Array:
        """W: (batch, L, P)."""
        return self.kernels @ self.output.transpose(0, 2, 1)


def fit_factors(
    samples: Samples, family: Family, start: Array, output: Array, *, steps: int = 100, tolerance: float = 1e-9
) -> Fit:
    """The nearest local minimum of the squared error, from a start (batch, size) and output weights (batch, P, R).

    Each step solves for all parameters at once (Levenberg and Marquardt). A problem is finished when a step lowers its
    squared error by less than `tolerance`, relatively.
    """
    batch = len(start)
    parameters = np.concatenate([start, output.reshape(batch, -1)], axis=1)
    residual = _residual(samples, family, parameters)
    loss = _square(residual)
    damping = np.full(batch, _FIRST_DAMPING)
    live = np.arange(batch)
    taken = 0
    while len(live) and taken < steps:
        taken += 1
        part = samples if len(live) == batch else samples.take(live)
        slope, curvature = _normal_equations(part, family, parameters[live], residual[live])
        diagonal = np.einsum("zii->zi", curvature)  # a view
        diagonal += damping[live, None] * (diagonal + diagonal.mean(axis=1, keepdims=True))
        moved = parameters[live] + np.linalg.solve(curvature, slope[..., None])[..., 0]
        found = _residual(part, family, moved)
        after = _square(found)
        better = after < loss[live]
        gone = live[better]
        drop = 1 - after[better] / loss[gone]
        parameters[gone], residual[gone], loss[gone] = moved[better], found[better], after[better]
        factor = np.where(better, _EASIER, _HARDER)
        damping[live] = np.clip(damping[live] * factor, _LEAST_DAMPING, _MOST_DAMPING)
        still = np.ones(len(live), dtype=bool)
        still[np.flatnonzero(better)[drop < tolerance]] = False
        still &= damping[live] < _MOST_DAMPING
        live = live[still]
    kernels, head = _split(family, parameters, samples.geometry.places)
    return Fit(kernels, head, loss, taken)


def _normal_equations(samples: Samples, family: Family, parameters: Array, residual: Array) -> tuple[Array, Array]:
    jacobian = _jacobian(samples, family, parameters)
    across = jacobian.transpose(0, 2, 1)
    slope: Array = (across @ residual[..., None])[..., 0]
    return slope, across @ jacobian


def _jacobian(samples: Samples, family: Family, parameters: Array) -> Array:
    """d<X, W_X> / d(parameters, B): (batch, k, numbers), by moving W in the direction of each number."""
    geometry = samples.geometry
    kernels, output = _split(family, parameters, geometry.places)
    batch, size, _ = kernels.shape
    derivative = family.differentiate(parameters[:, : family.size])
    inner = np.einsum("zlrs,zpr->zslp", derivative, output, optimize=True)
    unit = np.eye(geometry.places)
    outer = np.einsum("zlr,pq->zqrlp", kernels, unit).reshape(batch, -1, size, geometry.places)
    moved = np.concatenate([inner, outer], axis=1)
    placed = geometry.place(moved.reshape(-1, size, geometry.places)).reshape(batch, moved.shape[1], -1)
    return samples.located @ placed.transpose(0, 2, 1)


def _residual(samples: Samples, family: Family, parameters: Array) -> Array:
    kernels, output = _split(family, parameters, samples.geometry.places)
    placed = samples.geometry.place(kernels @ output.transpose(0, 2, 1))
    found: Array = samples.targets - (samples.located @ placed[..., None])[..., 0]
    return found


def _split(family: Family, parameters: Array, places: int) -> tuple[Array, Array]:
    inner, head = parameters[:, : family.size], parameters[:, family.size :]
    return family.build(inner), head.reshape(len(head), places, family.kernels)


def _square(residual: Array) -> Array:
    return np.einsum("zk,zk->z", residual, residual)
