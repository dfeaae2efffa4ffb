"""Integer layers in 64-bit integers, from their definition: no convolution of a library, no floating point.

Slow, and a second implementation: whoever verifies compares some samples with it, bit for bit.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.core.errors import PactError
from netpact.layers.whole.between import WholePool
from netpact.layers.whole.layers import WholeAffine, WholeConv2d, WholeLayer, WholeLinear

Integers = NDArray[np.int64]
_MOST = 1 << 62


def layer_in_integers(x: Tensor, layer: WholeLayer) -> Tensor:
    grid = layer.grid
    values = _plain(x)
    if grid.levels:
        q = np.clip(np.array([_round_product(v, grid.levels) for v in values.ravel().tolist()]), grid.low, grid.high)
        q = q.astype(np.int64).reshape(values.shape)
    else:
        q, places = _as_integers(values)
        q = np.clip(q, grid.low << places, grid.high << places)
        q = _divide(q * grid.gain, grid.divide + places)
    if grid.levels:
        q = _divide(q * grid.gain, grid.divide)
    weight, bias, multiplier = (_integers(one) for one in (layer.weight, layer.bias, layer.multiplier))
    y = _sums(q, weight, layer)
    axes = (-1,) if isinstance(layer, WholeLinear) else (-1, *(1,) * (y.ndim - 2))
    z = _divide((y + bias.reshape(axes)) * multiplier.reshape(axes), grid.shift)
    if grid.reach:
        z = np.clip(z, -grid.reach, grid.reach)
    return torch.from_numpy(z.astype(np.float64)).to(torch.float64)


def pool_in_integers(x: Tensor, pool: WholePool) -> Tensor:
    q = _integers(x)
    if pool.kernel is None:
        sums = q.sum(axis=(-2, -1), keepdims=True)
    else:
        (up, left), (rows, columns), stride = pool.padding, pool.kernel, pool.stride or pool.kernel
        padded = np.pad(q, [(0, 0)] * (q.ndim - 2) + [(up, up), (left, left)])
        sums = sum(
            _window(padded, (row, column), pool.kernel, stride, (1, 1))
            for row, column in itertools.product(range(rows), range(columns))
        )
    return torch.from_numpy(_divide(sums * pool.multiplier, pool.shift).astype(np.float64))


def _sums(q: Integers, weight: Integers, layer: WholeLayer) -> Integers:
    if isinstance(layer, WholeLinear):
        return q @ weight.T
    if isinstance(layer, WholeAffine):
        return q * weight.reshape(-1, *(1,) * (q.ndim - 2))
    assert isinstance(layer, WholeConv2d)
    return _convolve(_pad(q, layer), weight, layer)


def _convolve(q: Integers, weight: Integers, conv: nn.Conv2d) -> Integers:
    """Tap by tap: each adds one matrix product of all images."""
    groups, taps = conv.groups, conv.kernel_size
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    parts = list[Integers]()
    for group in range(groups):
        own = q[:, group * inputs : (group + 1) * inputs]
        kernel = weight[group * outputs : (group + 1) * outputs]
        total: Any = 0
        for row, column in itertools.product(range(taps[0]), range(taps[1])):
            start = row * conv.dilation[0], column * conv.dilation[1]
            seen = _window(own, start, taps, conv.stride, conv.dilation)
            total = total + np.einsum("nchw,oc->nohw", seen, kernel[:, :, row, column])
        parts.append(total)
    return np.concatenate(parts, axis=1)


def _window(
    q: Integers, start: tuple[int, int], taps: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> Integers:
    """What one tap sees at all places of the output."""
    ends = []
    for axis in (0, 1):
        places = (q.shape[axis - 2] - dilation[axis] * (taps[axis] - 1) - 1) // stride[axis] + 1
        ends.append(slice(start[axis], start[axis] + (places - 1) * stride[axis] + 1, stride[axis]))
    return q[..., ends[0], ends[1]]


_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _pad(q: Integers, conv: nn.Conv2d) -> Integers:
    # torch's own list of what each side gets, the last axis first.
    left, right, up, down = conv._reversed_padding_repeated_twice
    return np.pad(q, [(0, 0), (0, 0), (up, down), (left, right)], mode=_MODES[conv.padding_mode])  # type: ignore[call-overload]


def _divide(numbers: Integers, places: int) -> Integers:
    """By 2^places, to the nearest, ties to even."""
    if numbers.size and max(int(numbers.max()), -int(numbers.min())) >= _MOST:
        raise PactError("an integer is beyond 64 bits", where="network")
    if not places:
        return numbers
    if places > 61:
        return np.zeros_like(numbers)
    down, below, half = numbers >> places, numbers & ((1 << places) - 1), 1 << (places - 1)
    return down + ((below > half) | ((below == half) & (down % 2 == 1)))


def _round_product(number: float, levels: int) -> int:
    """A floating point number times a whole one, rounded, ties to even: as a fraction of integers."""
    if not math.isfinite(number):
        return (1 << 62) if number > 0 else -(1 << 62)
    top, bottom = number.as_integer_ratio()
    down, rest = divmod(top * levels, bottom)
    found = down + (2 * rest > bottom or (2 * rest == bottom and down % 2 == 1))
    return max(-(1 << 62), min(1 << 62, found))


def _as_integers(values: NDArray[np.float64]) -> tuple[Integers, int]:
    """Whole multiples of some 2^-places: the fewest places that serve."""
    places = 0
    while not np.array_equal(scaled := np.ldexp(values, places), np.rint(scaled)):
        places += 1
        if places > 40:
            raise PactError("a tensor that should hold integers does not", where="network")
    return scaled.astype(np.int64), places


def _integers(tensor: Tensor) -> Integers:
    return _plain(tensor).astype(np.int64)


def _plain(tensor: Tensor) -> NDArray[np.float64]:
    return tensor.detach().as_subclass(Tensor).cpu().double().numpy()
