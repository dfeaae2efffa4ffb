"""Where the kernels of one convolution stand, and the coordinates of inputs that a network of such kernels sees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from netpact.papers.rethinking.statistics.positions import Isometry, Matrix, Window, positioning_factors

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Geometry:
    """Where one convolution with pooling stands on inputs of a shape.

    The inputs enter <X, W_X> through their coordinates in the ranges of the positioning factors alone:
    U_F = Q C with Q of orthonormal columns, and <X, W_X> = <X x_j Q_j', W x_j C_j>.
    """

    shape: tuple[int, ...]
    window: Window

    @property
    def kernel(self) -> tuple[int, ...]:
        return self.window.kernel

    @cached_property
    def pooled(self) -> tuple[int, ...]:
        return self.window.sizes(self.shape)[1]

    @property
    def places(self) -> int:
        """P"""
        return math.prod(self.pooled)

    @cached_property
    def factors(self) -> tuple[Matrix, ...]:
        return positioning_factors(self.shape, [self.window])

    @cached_property
    def isometry(self) -> Isometry:
        return Isometry.of(self.factors)

    @cached_property
    def bases(self) -> tuple[Matrix, ...]:
        """Q of each mode."""
        found = []
        for factor in self.factors:
            left, values, _ = np.linalg.svd(factor, full_matrices=False)
            found.append(left[:, values > values[0] * max(factor.shape) * np.finfo(np.float64).eps])
        return tuple(found)

    @cached_property
    def reduced(self) -> tuple[Matrix, ...]:
        """C of each mode."""
        return tuple(basis.T @ factor for basis, factor in zip(self.bases, self.factors, strict=True))

    @property
    def coordinates(self) -> int:
        return math.prod(basis.shape[1] for basis in self.bases)

    def locate(self, inputs: Array) -> Array:
        """The coordinates of inputs (batch, n, d): (batch, n, coordinates)."""
        return _multiply(inputs, self.shape, [basis.T for basis in self.bases])

    def pull(self, located: Array) -> Array:
        """The adjoint of `place`: (batch, L, P) of coordinates (batch, coordinates)."""
        return self._back(located, [factor.T for factor in self.reduced])

    def unplace(self, located: Array) -> Array:
        """The smallest W with these coordinates of U_G W: (batch, L, P)."""
        return self._back(located, [np.linalg.pinv(factor).astype(np.float64) for factor in self.reduced])

    def _back(self, located: Array, matrices: list[Matrix]) -> Array:
        order, sizes = len(self.kernel), [basis.shape[1] for basis in self.bases]
        features = _multiply(located[:, None], sizes, matrices)
        pairs = zip(self.pooled, self.kernel, strict=True)
        apart = features.reshape(len(located), *(size for pair in pairs for size in pair))
        axes = [*(2 + 2 * mode for mode in range(order)), *(1 + 2 * mode for mode in range(order))]
        return apart.transpose(0, *axes).reshape(len(located), math.prod(self.kernel), self.places)

    def place(self, weights: Array) -> Array:
        """U_G W in coordinates: (batch, coordinates) of weights (batch, L, P). Its norm is that of U_G W."""
        order = len(self.kernel)
        apart = weights.reshape(len(weights), *self.kernel, *self.pooled)
        axes = [axis for mode in range(order) for axis in (1 + order + mode, 1 + mode)]
        sizes = [p * size for p, size in zip(self.pooled, self.kernel, strict=True)]
        core = apart.transpose(0, *axes).reshape(len(weights), 1, -1)
        return _multiply(core, sizes, list(self.reduced))[:, 0]


def _multiply(arrays: Array, sizes: list[int] | tuple[int, ...], matrices: list[Matrix]) -> Array:
    """Mode products of tensors of these sizes, flat behind two axes that stay."""
    lead = arrays.shape[:2]
    found = arrays.reshape(lead[0] * lead[1], *sizes)
    for mode, matrix in enumerate(matrices):
        found = np.moveaxis(np.tensordot(found, matrix, axes=(1 + mode, 1)), -1, 1 + mode)
    return found.reshape(*lead, -1)
