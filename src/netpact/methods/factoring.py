"""Layers of low rank as two layers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from netpact.algebra.singular_values import SingularValues
from netpact.coding.forms import CodedTensor, Factor, LowRank, matrix_sides
from netpact.layers.rewrites import LowRankLayer
from netpact.methods.approximations import UNIT_STEP
from netpact.methods.grids import Grid, PerChannel, UniformGrid
from netpact.methods.low_rank_fitting import round_low_rank
from netpact.methods.replacing import Replacement


class Factors(NamedTuple):
    """The weights of two layers that stand in the place of one."""

    first: CodedTensor
    second: CodedTensor

    @property
    def replacement(self) -> Replacement:
        weights = {"first.weight": self.first, "second.weight": self.second}
        return Replacement(LowRankLayer(self.first.shape[0]), weights, bias="second.bias", added=2)


def factor_matrix(found: SingularValues, shape: tuple[int, ...], grid: Grid) -> Factors | None:
    """Both factors; in an even grid in shifts of one step: fewer bits than scales of components at equal error."""
    if not isinstance(grid, UniformGrid):
        return round_factors(found, shape, grid) if len(found.values) else None
    product = round_low_rank(found, shape, bits=grid.bits)
    return split_factors(product) if isinstance(product.form, LowRank) else None


def split_factors(product: CodedTensor) -> Factors:
    """The same symbols, so the same product exactly: weights of the first and of the second layer."""
    form = product.form
    assert isinstance(form, LowRank)
    rows, rank = matrix_sides(product.shape)[0], form.rank
    left, right = product.symbols[: rows * rank], product.symbols[rows * rank :]
    first, second = _shapes(product.shape, rank)
    return Factors(
        CodedTensor(Factor(form.step, form.octaves[:-1]), right, first),
        CodedTensor(Factor(UNIT_STEP, form.octaves[:-1], second=True), left, second),
    )


def round_factors(found: SingularValues, shape: tuple[int, ...], grid: Grid) -> Factors:
    """Both factors in any grid, with a scale for each component: sqrt(value_j) u_j and sqrt(value_j) v_j."""
    first, second = _shapes(shape, len(found.values))
    roots = np.sqrt(found.values)
    return Factors(
        PerChannel(grid).round((roots[:, None] * found.right).reshape(first)),
        PerChannel(grid, columns=True).round((found.left * roots).reshape(second)),
    )


def _shapes(shape: tuple[int, ...], rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of the first layer's weight, and of the second one's: a convolution of single pixels where it is one."""
    return (rank, *shape[1:]), (shape[0], rank, *(1,) * (len(shape) - 2))
