"""CP layers of higher order: a component is a product of m small matrices, not of vectors (Li et al. 2020, App. C).

    M_{t_1 ... t_m, s_1 ... s_m} = sum_r K^1_{r t_1 s_1} ... K^m_{r t_m s_m}        (definition C.4)

The cores K^l are applied one after the other, as 1x1 convolutions whose channels are (r, s_l) and whose pixels are all
other indices: the first one makes the R components, those between have one group for each, the last one sums over r.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from netpact.core.checks import check_integer, told
from netpact.core.errors import PactError
from netpact.layers.components import init_uniform

Shape = tuple[int, ...]


def make_cores(in_shape: Shape, out_shape: Shape, rank: int, place: dict[str, Any]) -> OrderedDict[str, nn.Module]:
    cores: OrderedDict[str, nn.Module] = OrderedDict()
    last = len(in_shape)
    for number, (inputs, outputs) in enumerate(zip(in_shape, out_shape, strict=True), start=1):
        narrow = inputs if number == 1 else rank * inputs
        wide = outputs if number == last else rank * outputs
        groups = 1 if number in (1, last) else rank
        cores[f"core_{number}"] = nn.Conv2d(narrow, wide, 1, groups=groups, bias=False, **place)
    return cores


def run_cores(
    cores: Sequence[nn.Conv2d],
    inputs: Tensor,
    shapes: tuple[Shape, Shape],
    middle: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """(N, s_1 ... s_m, pixels) to (N, t_1 ... t_m, pixels); `middle` may change the pixels of (N, r, rest, pixels)."""
    (in_shape, out_shape), samples = shapes, len(inputs)
    rank = cores[0].out_channels // out_shape[0]
    made = cores[0](inputs.reshape(samples, in_shape[0], -1, 1))
    if middle is not None:
        made = middle(made.reshape(samples, rank, out_shape[0] * math.prod(in_shape[1:]), -1))
    done = 1
    for core, size, inner in zip(cores[1:], in_shape[1:], out_shape, strict=False):
        apart = made.reshape(samples, rank, inner, done, size, -1)
        done *= inner
        made = core(apart.permute(0, 1, 4, 3, 2, 5).reshape(samples, rank * size, -1, 1))
    return made.reshape(samples, out_shape[-1], done, -1).transpose(1, 2).flatten(1, 2)


def reset_cores(cores: Sequence[nn.Conv2d], in_shape: Shape, rank: int, generator: torch.Generator | None) -> None:
    """So that the product of all of them, summed over r, has the variance 1 / (3 s_1 ... s_m)."""
    for core, size in zip(cores[:-1], in_shape, strict=False):
        init_uniform(core.weight, 1 / size, generator)
    init_uniform(cores[-1].weight, 1 / (3 * rank * in_shape[-1]), generator)


def pair_modes(weight: Tensor, in_shape: Shape, out_shape: Shape) -> Tensor:
    """(t, s, ...) as (t_1 s_1, ..., t_m s_m, ...): what a CP decomposition of the cores is of."""
    order, rest = len(in_shape), weight.shape[2:]
    apart = weight.reshape(*out_shape, *in_shape, -1)
    pairs = [axis for number in range(order) for axis in (number, order + number)]
    return apart.permute(*pairs, 2 * order).reshape(*_products(in_shape, out_shape), *rest)


def part_modes(tensor: Tensor, in_shape: Shape, out_shape: Shape) -> Tensor:
    """Back again."""
    order, rest = len(in_shape), tensor.shape[len(in_shape) :]
    pairs = [size for pair in zip(out_shape, in_shape, strict=True) for size in pair]
    apart = tensor.reshape(*pairs, -1)
    parted = apart.permute(*range(0, 2 * order, 2), *range(1, 2 * order, 2), 2 * order)
    return parted.reshape(math.prod(out_shape), math.prod(in_shape), *rest)


def core_modes(in_shape: Shape, out_shape: Shape) -> Shape:
    return tuple(_products(in_shape, out_shape))


def _products(in_shape: Shape, out_shape: Shape) -> list[int]:
    return [wide * narrow for wide, narrow in zip(out_shape, in_shape, strict=True)]


def check_shapes(in_shape: object, out_shape: object) -> tuple[Shape, Shape]:
    """Of equal order, at least 2: with one core there is nothing to factor."""
    for shape, where in ((in_shape, "in_shape"), (out_shape, "out_shape")):
        if not isinstance(shape, (tuple, list)) or len(shape) < 2:
            raise PactError(f"must be two or more integers >= 1, got {told(shape)}", where=where)
        for size in shape:
            check_integer(size, where=where, least=1)
    assert isinstance(in_shape, (tuple, list))
    assert isinstance(out_shape, (tuple, list))
    if len(in_shape) != len(out_shape):
        what = f"both shapes must have as many sizes, got {told(in_shape)} and {told(out_shape)}"
        raise PactError(what, where="in_shape, out_shape")
    return tuple(in_shape), tuple(out_shape)
