"""CompositeCNN: convolutions, average pooling and a linear output as one linear map (sections 2.2, 2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netpact.core.errors import PactError, wrong_kind
from netpact.papers.rethinking.statistics.positions import (
    Isometry,
    Matrix,
    Window,
    check_sizes,
    positioning_factors,
)

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConvPool:
    """A convolution with average pooling behind it.

    kernels  (kernels, sizes of a kernel) of the first one; (kernels, kernels before it, sizes) of those that follow
    window   where the kernels stand; its sizes are those of the kernels
    """

    kernels: Array
    window: Window

    @property
    def count(self) -> int:
        return int(self.kernels.shape[0])


class CompositeCNN:
    """A network of linear layers on inputs of any order N, exactly as y = <X, W_X>.

        W_X = (sum_k B_k (x) A_k) x_1 U_F^(1) ... x_N U_F^(N)                        (4)
        W_X = (sum B_k (x) A~_kj (x) A_j) x_1 U_DF^(1) ... x_N U_DF^(N)              (7), five layers

    (x) is the Kronecker product. Channels, time or the columns of a record are modes like any other.

    shape   d_1 ... d_N of an input
    stages  convolutions with pooling, the first one first; the paper has one or two of them
    output  B: (outputs, kernels, p_1, ..., p_N), or without the first axis for a single output
    """

    def __init__(
        self, shape: Sequence[int], stages: Sequence[ConvPool], output: ArrayLike, intercept: ArrayLike = 0.0
    ) -> None:
        self.shape = check_sizes(shape, where="shape")
        self.stages = _check_stages(stages, len(self.shape))
        self.output = _check_output(output, self.stages[-1].count, self.pooled)
        self.intercept = np.broadcast_to(_numbers(intercept, where="intercept"), (self.outputs,))

    @property
    def order(self) -> int:
        return len(self.shape)

    @property
    def outputs(self) -> int:
        return int(self.output.shape[0])

    @property
    def windows(self) -> tuple[Window, ...]:
        return tuple(stage.window for stage in self.stages)

    @cached_property
    def pooled(self) -> tuple[int, ...]:
        """p_1 ... p_N: what the linear output sees of each kernel."""
        sizes = self.shape
        for window in self.windows:
            sizes = window.sizes(sizes)[1]
        return sizes

    @cached_property
    def factors(self) -> tuple[Matrix, ...]:
        """U_F of each mode, or U_DF."""
        return positioning_factors(self.shape, self.windows)

    @cached_property
    def isometry(self) -> Isometry:
        return Isometry.of(self.factors)

    @cached_property
    def core(self) -> Array:
        """W = sum_k B_k (x) A_k: (outputs, p_1 l_1, ..., p_N l_N)."""
        kernels = self.stages[0].kernels
        for stage in self.stages[1:]:
            kernels = _combine(stage.kernels, kernels)
        return _combine(self.output, kernels)

    @cached_property
    def weights(self) -> Array:
        """W_X: (outputs, d_1, ..., d_N)."""
        found = self.core
        for mode, factor in enumerate(self.factors):
            found = multiply_mode(found, factor, 1 + mode)
        return found

    def features(self, inputs: ArrayLike) -> Array:
        """Z = X x_1 U_F^(1)' ... x_N U_F^(N)': (samples, p_1 l_1, ..., p_N l_N), so that y = <Z, W>   (5)."""
        found = self._check_inputs(inputs)
        for mode, factor in enumerate(self.factors):
            found = multiply_mode(found, factor.T, 1 + mode)
        return found

    def predict(self, inputs: ArrayLike) -> Array:
        """<X, W_X> of each sample: (samples, outputs)."""
        samples = self._check_inputs(inputs)
        found: Array = samples.reshape(len(samples), -1) @ self.weights.reshape(self.outputs, -1).T + self.intercept
        return found

    def _check_inputs(self, inputs: ArrayLike) -> Array:
        samples = _numbers(inputs, where="inputs")
        if samples.shape[1:] != self.shape:
            needed = ", ".join(map(str, ("samples", *self.shape)))
            raise PactError(f"must have the sizes ({needed}), got {samples.shape}", where="inputs")
        return samples

    def __repr__(self) -> str:
        kernels = ", ".join(f"{stage.count} of {stage.window.kernel}" for stage in self.stages)
        return f"CompositeCNN(shape={self.shape}, kernels {kernels}, pooled {self.pooled}, outputs {self.outputs})"


def multiply_mode(tensor: Array, matrix: Array, axis: int) -> Array:
    """The mode product: the entries along the axis, multiplied by the matrix."""
    return np.moveaxis(np.tensordot(tensor, matrix, axes=(axis, 1)), -1, axis)


def _combine(outer: Array, inner: Array) -> Array:
    """sum_k outer[:, k] (x) inner[k]: the Kronecker product of every mode, summed over the kernels."""
    order = inner.ndim - 1
    product = np.tensordot(outer, inner, axes=(1, 0))  # (outputs, outer sizes, inner sizes)
    pairs = [axis for mode in range(order) for axis in (1 + mode, 1 + order + mode)]
    sizes = [outer.shape[2 + mode] * inner.shape[1 + mode] for mode in range(order)]
    return product.transpose(0, *pairs).reshape(outer.shape[0], *sizes)


def _check_stages(stages: object, order: int) -> tuple[ConvPool, ...]:
    if not isinstance(stages, Sequence) or not stages or not all(isinstance(one, ConvPool) for one in stages):
        raise wrong_kind(stages, needed="ConvPool records in a list, at least one", where="stages")
    before: int | None = None
    for place, stage in enumerate(stages):
        kernels = _numbers(stage.kernels, where=f"stage {place}, kernels")
        needed = ("K", *(() if before is None else (before,)), *stage.window.kernel)
        if stage.window.order != order or kernels.shape[1:] != needed[1:] or not kernels.size:
            told = ", ".join(map(str, needed))
            raise PactError(
                f"an input of order {order} and this window need kernels of sizes ({told}), got {kernels.shape}",
                where=f"stage {place}",
            )
        before = len(kernels)
    return tuple(ConvPool(_numbers(one.kernels, where="kernels"), one.window) for one in stages)


def _check_output(output: ArrayLike, kernels: int, pooled: tuple[int, ...]) -> Array:
    found = _numbers(output, where="output")
    needed = (kernels, *pooled)
    if found.shape == needed:
        found = found[None]
    if found.shape[1:] != needed or not len(found):
        told = ", ".join(map(str, needed))
        raise PactError(f"must have the sizes ({told}) or (outputs, {told}), got {found.shape}", where="output")
    return found


def _numbers(value: ArrayLike, *, where: str) -> Array:
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise wrong_kind(value, needed="an array of numbers", where=where) from error
    if not np.isfinite(found).all():
        raise PactError("some numbers are not finite", where=where)
    return found
