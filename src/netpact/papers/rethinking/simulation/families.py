"""Kernels as functions of their parameters (plain, Tucker, CP), and the adjoints of the derivatives; batches first.

The weights of a network are W = sum_r A_r (x) B_r over R kernels (Corollary 1). A family says how the kernels A,
(batch, L, R), follow from parameters (batch, size); the output weights B, (batch, P, R), are free in all of them.
"""

from __future__ import annotations

import math
import string
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Family(Protocol):
    """kernels: R; size: how many parameters the kernels have."""

    @property
    def kernels(self) -> int: ...
    @property
    def size(self) -> int: ...
    def build(self, parameters: Array) -> Array:
        """A: (batch, L, R)."""
        ...

    def pull(self, parameters: Array, slopes: Array) -> Array:
        """d<M_k, A> / dparameters for the rows M_k of slopes (batch, R, k, L): (batch, k, size)."""
        ...

    def draw(self, rng: np.random.Generator, batch: int) -> Array: ...


@dataclass(frozen=True)
class Plain:
    """Every number of a kernel is free."""

    kernel: tuple[int, ...]
    kernels: int

    @property
    def size(self) -> int:
        return math.prod(self.kernel) * self.kernels

    def build(self, parameters: Array) -> Array:
        return parameters.reshape(len(parameters), -1, self.kernels)

    def pull(self, parameters: Array, slopes: Array) -> Array:
        return _last(slopes)

    def draw(self, rng: np.random.Generator, batch: int) -> Array:
        return rng.standard_normal((batch, self.size))


@dataclass(frozen=True)
class Tucker:
    """A = G x_1 H^(1) ... x_N H^(N); the factor of the output channels is part of B.   (8)

    ranks  R_1 ... R_(N+1)
    """

    kernel: tuple[int, ...]
    ranks: tuple[int, ...]

    @property
    def kernels(self) -> int:
        return self.ranks[-1]

    @property
    def size(self) -> int:
        return math.prod(self.ranks) + sum(size * rank for size, rank in zip(self.kernel, self.ranks, strict=False))

    def build(self, parameters: Array) -> Array:
        core, factors = self.split(parameters)
        built = np.einsum(f"{self._core},{','.join(self._factors)}->z{self._sizes}o", core, *factors, optimize=True)
        return built.reshape(len(parameters), -1, self.kernels)

    def pull(self, parameters: Array, slopes: Array) -> Array:
        core, factors = self.split(parameters)
        names, (batch, kernels, rows, size) = self._factors, slopes.shape
        spread = np.einsum(f"{','.join(names)}->z{self._sizes}{self._ranks}", *factors, optimize=True)
        parts = [_last(slopes @ spread.reshape(batch, 1, size, -1))]
        for place, length in enumerate(self.kernel):
            others = [name for mode, name in enumerate(names) if mode != place]
            given = [factor for mode, factor in enumerate(factors) if mode != place]
            free = self._sizes.replace(self._sizes[place], "") + self._ranks[place]
            rest = np.einsum(f"{','.join([self._core, *others])}->zo{free}", core, *given, optimize=True)
            apart = slopes.reshape(batch, kernels, rows, math.prod(self.kernel[:place]), length, -1)
            turned = apart.swapaxes(3, 4).reshape(batch, kernels, rows * length, -1)
            found = turned @ rest.reshape(batch, kernels, size // length, -1)
            parts.append(found.sum(axis=1).reshape(batch, rows, -1))
        return np.concatenate(parts, axis=2)

    def draw(self, rng: np.random.Generator, batch: int) -> Array:
        """A core of standard normal entries, factors with orthonormal columns (section 4.1)."""
        core = rng.standard_normal((batch, math.prod(self.ranks)))
        factors = [
            np.linalg.qr(rng.standard_normal((batch, size, rank)))[0].reshape(batch, -1)
            for size, rank in zip(self.kernel, self.ranks, strict=False)
        ]
        return np.concatenate([core, *factors], axis=1)

    def split(self, parameters: Array) -> tuple[Array, list[Array]]:
        sizes = [math.prod(self.ranks), *(size * rank for size, rank in zip(self.kernel, self.ranks, strict=False))]
        core, *factors = np.split(parameters, np.cumsum(sizes)[:-1], axis=1)
        shapes = zip(factors, self.kernel, self.ranks, strict=False)
        return core.reshape(-1, *self.ranks), [one.reshape(-1, size, rank) for one, size, rank in shapes]

    @property
    def _ranks(self) -> str:
        return string.ascii_lowercase[: len(self.kernel)]

    @property
    def _sizes(self) -> str:
        return string.ascii_uppercase[: len(self.kernel)]

    @property
    def _core(self) -> str:
        return f"z{self._ranks}o"

    @property
    def _factors(self) -> list[str]:
        return [f"z{size}{rank}" for size, rank in zip(self._sizes, self._ranks, strict=True)]


@dataclass(frozen=True)
class CP:
    """A_r = h_r^(1) o ... o h_r^(N); amplitudes and the factor of the output channels are part of B."""

    kernel: tuple[int, ...]
    kernels: int

    @property
    def size(self) -> int:
        return sum(self.kernel) * self.kernels

    def build(self, parameters: Array) -> Array:
        return _outer(self.split(parameters))

    def pull(self, parameters: Array, slopes: Array) -> Array:
        factors, parts = self.split(parameters), []
        batch, kernels, rows, _ = slopes.shape
        for place, length in enumerate(self.kernel):
            before = _outer(factors[:place], batch, kernels).transpose(0, 2, 1)[:, :, None, None]
            after = _outer(factors[place + 1 :], batch, kernels).transpose(0, 2, 1)[..., None]
            found = slopes.reshape(batch, kernels, -1, after.shape[2]) @ after
            found = before @ found.reshape(batch, kernels, rows, before.shape[4], length)
            parts.append(_last(found[:, :, :, 0]))
        return np.concatenate(parts, axis=2)

    def draw(self, rng: np.random.Generator, batch: int) -> Array:
        """Orthonormal columns where there is room for them (A.5.1)."""
        found = []
        for size in self.kernel:
            drawn = rng.standard_normal((batch, size, self.kernels))
            found.append(
                np.linalg.qr(drawn)[0] if size >= self.kernels else drawn / np.linalg.norm(drawn, axis=1)[:, None]
            )
        return np.concatenate([one.reshape(batch, -1) for one in found], axis=1)

    def split(self, parameters: Array) -> list[Array]:
        found = np.split(parameters, np.cumsum([size * self.kernels for size in self.kernel])[:-1], axis=1)
        return [one.reshape(-1, size, self.kernels) for one, size in zip(found, self.kernel, strict=True)]


def _last(slopes: Array) -> Array:
    """Kernels last, as parameters have them: (batch, k, numbers * R) of (batch, R, k, numbers)."""
    return slopes.transpose(0, 2, 3, 1).reshape(len(slopes), slopes.shape[2], -1)


def _outer(factors: list[Array], batch: int = 1, kernels: int = 1) -> Array:
    """The outer products of the columns, flat: (batch, product of the sizes, kernels)."""
    found = factors[0] if factors else np.ones((batch, 1, kernels))
    for factor in factors[1:]:
        found = np.einsum("zar,zbr->zabr", found, factor).reshape(len(found), -1, factor.shape[2])
    return found
