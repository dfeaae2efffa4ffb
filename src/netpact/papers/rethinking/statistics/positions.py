"""Where a kernel stands: the positioning factors U_F of convolution and average pooling (section 2.2, A.1, A.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from netpact.core.checks import check_integer, check_number, told
from netpact.core.errors import PactError

Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Window:
    """One convolution with average pooling behind it; every number once for each mode of the input.

    An integer instead of a tuple is meant for every mode. A mode that the kernel covers, with neither pooling nor
    padding, is one of channels.

    pooling_stride  default: the size of the pooling, so that windows do not overlap
    padding         zeros at both ends of a mode, before the convolution
    """

    kernel: tuple[int, ...]
    stride: int | tuple[int, ...] = 1
    pooling: int | tuple[int, ...] = 1
    pooling_stride: int | tuple[int, ...] | None = None
    padding: int | tuple[int, ...] = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", check_sizes(self.kernel, where="kernel"))
        for name, least in (("stride", 1), ("pooling", 1), ("pooling_stride", 1), ("padding", 0)):
            value = getattr(self, name)
            if value is None:
                value = self.pooling
            spread = (value,) * self.order if isinstance(value, int) else value
            object.__setattr__(self, name, check_sizes(spread, where=name, count=self.order, least=least))

    @property
    def order(self) -> int:
        return len(self.kernel)

    def sizes(self, shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """m behind the convolution and p behind the pooling. As in torch, what no window covers is left out."""
        check_sizes(shape, where="shape", count=self.order)
        convolved, pooled = [], []
        for mode, (d, kernel, stride, q, t, pad) in enumerate(zip(shape, *self._columns(), strict=True)):
            m = (d + 2 * pad - kernel) // stride + 1
            p = (m - q) // t + 1
            if d + 2 * pad < kernel or m < q:
                raise PactError(
                    f"a kernel of {kernel} and pooling of {q} do not fit into {d} entries with a padding of {pad}",
                    where=f"mode {mode}",
                )
            convolved.append(m)
            pooled.append(p)
        return tuple(convolved), tuple(pooled)

    def factors(self, shape: Sequence[int]) -> list[NDArray[np.float64]]:
        """(U_F,1 ... U_F,p) of each mode, as an array of sizes (d, p, l).

        U_F,i = 1/q sum of U_k over the k of pooling window i,   U_k[(k - 1) s + a - padding, a] = 1   (2)
        """
        _, pooled = self.sizes(shape)
        found = []
        for d, p, kernel, stride, q, t, pad in zip(shape, pooled, *self._columns(), strict=True):
            stacked = np.zeros((d, p, kernel))
            place, k, offset = np.ogrid[:p, :q, :kernel]
            rows = (place * t + k) * stride + offset - pad
            places, offsets = np.broadcast_to(place, rows.shape), np.broadcast_to(offset, rows.shape)
            inside = (rows >= 0) & (rows < d)  # rows of the padding meet zeros
            np.add.at(stacked, (rows[inside], places[inside], offsets[inside]), 1 / q)
            found.append(stacked)
        return found

    def _columns(self) -> tuple[tuple[int, ...], ...]:
        columns: tuple[tuple[int, ...], ...] = (
            self.kernel,
            self.stride,
            self.pooling,
            self.pooling_stride,
            self.padding,
        )  # type: ignore[assignment]  # tuples since __post_init__
        return columns


def positioning_factors(shape: Sequence[int], windows: Sequence[Window]) -> tuple[Matrix, ...]:
    """U_F of each mode for one window, U_DF for two (A.2), and so on: d rows, a column for each number of the weights.

    The columns are ordered as in a Kronecker product: output weights, last kernel, ..., first kernel.
    """
    if not windows:
        raise PactError("at least one convolution is needed", where="windows")
    layers, sizes = [], tuple(shape)
    for window in windows:
        layers.append(window.factors(sizes))
        sizes = window.sizes(sizes)[1]
    return tuple(
        reduce(_follow, mode).reshape(shape[place], -1) for place, mode in enumerate(zip(*layers, strict=True))
    )


def _follow(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """(d, p, l) and (p, p', l') to (d, p', l' l): the sum over what lies between (A.2)."""
    both = np.einsum("dpl,pqm->dqml", first, second)
    return both.reshape(*both.shape[:2], -1)


@dataclass(frozen=True)
class Isometry:
    """c_u and C_u of Assumption 3: c_u I <= U_G' U_G <= C_u I, U_G the Kronecker product of the factors."""

    least: float
    largest: float

    def __post_init__(self) -> None:
        check_number(self.least, where="isometry, least", least=0)
        check_number(self.largest, where="isometry, largest", above=0, least=self.least)

    @staticmethod
    def of(factors: Sequence[Matrix]) -> Isometry:
        """Singular values of a Kronecker product are products of the factors'; exactly 0 where one lacks full rank."""
        least = largest = 1.0
        for factor in factors:
            values = np.linalg.svd(factor, compute_uv=False)
            rank = int((values > values[0] * max(factor.shape) * np.finfo(np.float64).eps).sum())
            least *= float(values[-1] ** 2) if rank == factor.shape[1] else 0.0
            largest *= float(values[0] ** 2)
        return Isometry(least, largest)

    def __str__(self) -> str:
        return f"c_u = {self.least:.4g}, C_u = {self.largest:.4g}"


def check_sizes(
    value: object, *, where: str, count: int | None = None, least: int = 1, hint: str = ""
) -> tuple[int, ...]:
    """Integers, one for each mode."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)) or not value:
        raise PactError(f"must be integers, one for each mode, got {told(value)}", where=where, hint=hint)
    if count is not None and len(value) != count:
        raise PactError(f"must have {count} entries, one for each mode, got {told(value)}", where=where, hint=hint)
    return tuple(check_integer(one, where=f"{where}, mode {mode}", least=least) for mode, one in enumerate(value))
