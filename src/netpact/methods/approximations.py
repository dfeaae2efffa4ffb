"""What a method makes of a tensor: real numbers of some structure, which any grid can write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Protocol

import numpy as np
from torch import Tensor

from netpact.coding import ShortFloat
from netpact.coding.format import Compressed
from netpact.coding.forms import (
    CodedTensor,
    Difference,
    Projected,
    Projection,
    Relative,
    Sparse,
    Ternary,
    Uniform,
    Zero,
    matrix_sides,
)
from netpact.coding.forms.sparse import DROPPED
from netpact.methods.fitting import Array, keep_exact, keep_integers, zero_tensor
from netpact.methods.grids import Grid, PerChannel, UniformGrid
from netpact.methods.sparse_forms import shortest_sparse
from netpact.network import Network

BIAS_GRID = UniformGrid(8)  # biases are few, and their errors are not averaged away
UNIT_STEP = ShortFloat(exponent=0, mantissa=0)  # the cheapest one to write


class Approximation(Protocol):
    def code(self, grid: Grid) -> CodedTensor:
        """Its numbers in the grid, in the shortest form that holds them."""


@dataclass(frozen=True, eq=False)
class Dense:
    values: Array
    importance: Array | None = None

    def code(self, grid: Grid) -> CodedTensor:
        return grid.weighed([self.importance]).round(self.values)


@dataclass(frozen=True, eq=False)
class FewEntries:
    """Entries that are 0 are not kept."""

    values: Array

    def code(self, grid: Grid) -> CodedTensor:
        kept = np.flatnonzero(self.values)
        coded = grid.round(self.values.ravel()[kept])
        if isinstance(coded.form, Zero):
            return zero_tensor(self.values.shape)
        # Symbols of an even grid have a 0 of their own; to mark what is kept takes more bits.
        even = isinstance(coded.form, Uniform)
        symbols = np.full(self.values.size, 0 if even else DROPPED)
        symbols[kept] = coded.symbols
        return CodedTensor(coded.form if even else Sparse(coded.form), symbols, self.values.shape)


@dataclass(frozen=True, eq=False)
class PrunedEntries:
    """Entries that are 0 stay 0, and no other becomes it but for its price: the message says which were kept."""

    values: Array
    importance: Array | None = None

    def code(self, grid: Grid) -> CodedTensor:
        kept = np.flatnonzero(self.values)
        if not len(kept):
            return zero_tensor(self.values.shape)
        if isinstance(grid, PerChannel):
            scaled = lambda part, own: replace(self, values=part).code(own)  # noqa: E731
            return grid.code_scaled(self.values, self._sizes(), scaled)
        grid = grid.weighed([self.importance])
        coded = grid.round_kept(self.values.ravel()[kept])
        if len(kept) == self.values.size:
            return grid.settle(CodedTensor(coded.form, coded.symbols, self.values.shape), self.values)
        own_zero = isinstance(coded.form, (Uniform, Ternary))
        symbols = np.full(self.values.size, 0 if own_zero else DROPPED)
        symbols[kept] = coded.symbols
        whole = CodedTensor(coded.form if own_zero else Sparse(coded.form), symbols, self.values.shape)
        return shortest_sparse(grid.settle(shortest_sparse(whole), self.values))

    def _sizes(self) -> Array:
        """The root mean square of what each channel keeps."""
        if self.values.ndim < 2:
            return np.ones(len(self.values))
        # In units of the largest, so that no square underflows or overflows.
        matrix = self.values.reshape(matrix_sides(self.values.shape)) / np.abs(self.values).max()
        return np.asarray(np.sqrt(np.square(matrix).sum(axis=1) / np.maximum(np.count_nonzero(matrix, axis=1), 1)))


@dataclass(frozen=True, eq=False)
class Coefficients:
    """weights = sum_i coefficient_i M_i.

    values  the coefficients, a row for each vector
    draw    says which matrices; its step does not matter
    """

    values: Array
    draw: Projection
    shape: tuple[int, ...]

    def code(self, grid: Grid) -> CodedTensor:
        coded, draw = grid.round(self.values), self.draw
        if isinstance(coded.form, Zero):
            return zero_tensor(self.shape)
        how = {"seed": draw.seed, "layer": draw.layer}
        form = (
            Projection(coded.form.step, draw.count, draw.variant, **how, by_rows=draw.by_rows)
            if isinstance(coded.form, Uniform)
            else Projected(coded.form, draw.count, draw.variant, **how, by_rows=draw.by_rows)
        )
        return CodedTensor(form, coded.symbols, self.shape)


@dataclass(frozen=True, eq=False)
class FromBase:
    """The base network's tensor plus an approximation of the difference."""

    difference: Approximation

    def code(self, grid: Grid) -> CodedTensor:
        return beyond_base(self.difference.code(grid))


def beyond_base(coded: CodedTensor) -> CodedTensor:
    """What is coded becomes the difference from the base's tensor, in the shortest form that says so."""
    if isinstance(coded.form, Uniform):
        return CodedTensor(Relative(coded.form.step), coded.symbols, coded.shape)
    if isinstance(coded.form, Zero):  # equal to the base's
        return CodedTensor(Relative(UNIT_STEP), np.zeros(int(np.prod(coded.shape)), dtype=np.int64), coded.shape)
    return CodedTensor(Difference(coded.form), coded.symbols, coded.shape)


def code_network(
    network: Network,
    grid: Grid,
    approximations: Mapping[str, Approximation] | None = None,
    *,
    shared: bool = False,
    importance: Mapping[str, Array] = MappingProxyType({}),
) -> Compressed:
    """Every tensor of the network: approximated, or as it is; biases and other vectors take 8 bits, buffers all theirs,
    and so do parameters that are integers.

    shared      one grid for all weights that are not approximated, instead of one for each; and one for all vectors
    importance  of the weights that are not approximated, by name, where it is known
    """
    chosen = dict(approximations or {})
    plain = {name: tensor for name, tensor in network.module.named_parameters() if name not in chosen}
    rest = {name: as_array(tensor) for name, tensor in plain.items() if tensor.is_floating_point()}
    coded = {name: approximation.code(grid) for name, approximation in chosen.items()}
    coded |= {name: code_buffer(tensor) for name, tensor in plain.items() if name not in rest}
    weights = {name: Dense(values, importance.get(name)) for name, values in rest.items() if values.ndim >= 2}
    vectors = {name: Dense(values) for name, values in rest.items() if values.ndim < 2}
    coded |= _round(weights, grid, shared=shared) | _round(vectors, BIAS_GRID, shared=shared)
    coded |= {name: code_buffer(tensor) for name, tensor in network.module.named_buffers()}
    order = [name for name, _ in [*network.module.named_parameters(), *network.module.named_buffers()]]
    return Compressed(network.architecture, {name: coded[name] for name in order})


def code_buffer(tensor: Tensor) -> CodedTensor:
    """Buffers are kept exactly: running statistics are few, and counters must stay integers."""
    values = tensor.detach().numpy()
    if tensor.is_floating_point():
        return keep_exact(values.astype(np.float32))
    return keep_integers(values.astype(np.int64))


def as_array(tensor: Tensor) -> Array:
    return tensor.detach().numpy().astype(np.float64)


def _round(tensors: dict[str, Dense], grid: Grid, *, shared: bool) -> dict[str, CodedTensor]:
    if not shared:
        rounded = [tensor.code(grid) for tensor in tensors.values()]
    else:
        together = grid.weighed([tensor.importance for tensor in tensors.values()])
        rounded = together.round_all([tensor.values for tensor in tensors.values()]) if tensors else []
    return {name: shortest_sparse(tensor) for name, tensor in zip(tensors, rounded, strict=True)}
