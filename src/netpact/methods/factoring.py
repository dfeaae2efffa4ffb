"""Layers of low rank as two layers: fewer multiplications, not only fewer bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from netpact.algebra.singular_values import SingularValues
from netpact.coding.format import Compressed, own_slots
from netpact.coding.forms import CodedTensor, Factor, LowRank, matrix_sides
from netpact.layers.rewrites import LowRankLayer, Step, can_factor
from netpact.methods.approximations import UNIT_STEP
from netpact.methods.grids import Grid, PerChannel
from netpact.methods.low_rank_fitting import code_length
from netpact.network import Network

_STEP_BITS = 40  # of a rewrite in the message, about


class Factors(NamedTuple):
    """The weights of two layers that stand in the place of one."""

    first: CodedTensor
    second: CodedTensor

    @property
    def rank(self) -> int:
        return self.first.shape[0]


def factor_layers(
    network: Network,
    coded: Mapping[str, CodedTensor],
    factors: Mapping[str, Factors],
    plain: Mapping[str, CodedTensor],
) -> Compressed:
    """Every layer for whose weight there are factors as two layers, where that takes fewer numbers, and fewer bits.

    A layer whose tensors are used elsewhere too stays one: the others would lose them.

    coded  the tensors of layers that stay one, of low rank or not
    plain  the tensors without low rank
    """
    tensors, steps = dict(coded), list[Step]()
    owners = Counter(id(tensor) for part in network.module.modules() for tensor in part.parameters(recurse=False))
    lent = {id(network.module.get_parameter(name)) for name in network.strays}
    for number, (name, part) in enumerate(network.module.named_modules()):
        prefix = f"{name}." if name else ""
        own = factors.get(f"{prefix}weight")
        if own is None or not can_factor(part):
            continue
        if any(owners[id(tensor)] > 1 or id(tensor) in lent for tensor in part.parameters()):
            continue
        numbers = sum(int(np.prod(tensor.shape)) for tensor in own)
        if numbers >= part.weight.numel() or (
            sum(map(code_length, own)) + _STEP_BITS >= code_length(plain[f"{prefix}weight"])
        ):
            continue
        del tensors[f"{prefix}weight"]
        tensors |= {f"{prefix}first.weight": own.first, f"{prefix}second.weight": own.second}
        if part.bias is not None:
            tensors[f"{prefix}second.bias"] = tensors.pop(f"{prefix}bias")
        # Each of the steps before has put two layers into the list.
        steps.append(Step(number + 2 * len(steps), LowRankLayer(own.rank)))
    rewrites = tuple(steps)
    order = [slot.name for slot in own_slots(network.module, rewrites)]
    return Compressed(network.architecture, {name: tensors[name] for name in order}, rewrites=rewrites)


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
