"""Least squares over all networks of a family: Gauss-Newton steps with damping, many problems at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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

    @cached_property
    def features(self) -> Array:
        """The rows as factors of the entries of W: (batch, P, k, L)."""
        batch, rows, _ = self.located.shape
        pulled = self.geometry.pull(self.located.reshape(batch * rows, -1))
        return np.ascontiguousarray(pulled.reshape(batch, rows, *pulled.shape[1:]).transpose(0, 3, 1, 2))

    def take(self, places: NDArray[np.intp]) -> Samples:
        found = Samples(self.geometry, self.located[places], self.targets[places])
        found.__dict__["features"] = self.features[places]
        return found


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
    live, part = np.arange(batch), samples
    taken = 0
    while len(live) and taken < steps:
        taken += 1
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
        if not still.all():
            live, part = live[still], part.take(np.flatnonzero(still))
    kernels, head = _split(family, parameters, samples.geometry.places)
    return Fit(kernels, head, loss, taken)


def _normal_equations(samples: Samples, family: Family, parameters: Array, residual: Array) -> tuple[Array, Array]:
    jacobian = _jacobian(samples, family, parameters)
    across = jacobian.transpose(0, 2, 1)
    slope: Array = (across @ residual[..., None])[..., 0]
    return slope, across @ jacobian


def _jacobian(samples: Samples, family: Family, parameters: Array) -> Array:
    """d<X, W_X> / d(parameters, B): (batch, k, numbers). W = A B', so each half is a product of the other with X."""
    kernels, output = _split(family, parameters, samples.geometry.places)
    features = samples.features
    batch, places, rows, size = features.shape
    by_kernel = output.transpose(0, 2, 1) @ features.reshape(batch, places, rows * size)
    inner = family.pull(parameters[:, : family.size], by_kernel.reshape(batch, -1, rows, size))
    outer = features @ kernels[:, None]
    return np.concatenate([inner, outer.transpose(0, 2, 1, 3).reshape(batch, rows, -1)], axis=2)


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
