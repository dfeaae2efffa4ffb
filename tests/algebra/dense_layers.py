"""Layers as matrices, column by column, and symbols straight from their definition: slow and independent."""

from __future__ import annotations

import itertools
import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d)
TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d)


def dense_norm(layer: nn.Module, shape: tuple[int, ...]) -> float:
    """The largest singular value of the layer, without bias, on inputs of this shape (channels, pixels...)."""
    layer = layer.double()
    count = math.prod(shape)
    with torch.no_grad():
        columns = layer(torch.eye(count, dtype=torch.float64).reshape(count, *shape)).flatten(1)
    return float(np.linalg.norm(columns.numpy(), 2))


def plane_norm(
    weight: Tensor, *, stride: tuple[int, ...], dilation: tuple[int, ...], groups: int, points: int
) -> float:
    """sup over a fine grid of |A A^H|^(1/2) by aliasing: the output at f mixes the inputs at (f + 2 pi k) / stride.

    A A^H (f) = sum_k M((f + 2 pi k) / s) M(...)^H / prod(s),  M(t) = sum_q W_q exp(i t . (dilation q))
    """
    kernel = weight.detach().double().numpy()
    kernel = kernel.reshape(groups, kernel.shape[0] // groups, *kernel.shape[1:])
    axes = len(stride)
    best = 0.0
    for place in itertools.product(range(points), repeat=axes):
        total = 0
        for alias in itertools.product(*(range(s) for s in stride)):
            symbol = kernel.astype(complex)
            for p, k, s, d in zip(reversed(place), reversed(alias), reversed(stride), reversed(dilation), strict=True):
                angle = (2 * math.pi * p / points + 2 * math.pi * k) / s
                symbol = symbol @ np.exp(1j * angle * d * np.arange(symbol.shape[-1]))
            total = total + symbol @ symbol.conj().swapaxes(-1, -2) / math.prod(stride)
        best = max(best, float(np.linalg.eigvalsh(total).max()))
    return math.sqrt(best)


def fill(layer: nn.Module, *, seed: int, kind: str) -> None:
    """Weights of different characters: plain, all of one sign (peak at frequency 0), one tap, uneven in size."""
    generator = torch.Generator().manual_seed(seed)
    weight = layer.weight
    assert isinstance(weight, Tensor)
    values = torch.randn(weight.shape, generator=generator)
    if kind == "positive":
        values = values.abs() + 1
    elif kind == "one tap":
        mask = torch.zeros(weight.shape[2:]).flatten()
        mask[seed % len(mask)] = 1
        values = values * mask.reshape(weight.shape[2:])
    elif kind == "uneven":
        values = values * 10.0 ** torch.randint(-6, 7, weight.shape, generator=generator)
    with torch.no_grad():
        weight.copy_(values)


@st.composite
def layers(draw: st.DrawFn) -> tuple[_ConvNd, tuple[int, ...]]:
    """Convolutions of every shape with an image that torch accepts: (layer, (channels, pixels...))."""
    axes = draw(st.sampled_from([1, 2]))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    inside, outside = (groups * draw(st.integers(1, 2)) for _ in range(2))
    mode: Any = draw(st.sampled_from(["zeros", "circular", "reflect", "replicate"]))
    transposed = mode == "zeros" and draw(st.booleans())

    def per_axis(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(axes))

    taps, stride, dilation, padding = per_axis(1, 4), per_axis(1, 3), per_axis(1, 3), per_axis(0, 3)
    kinds: Any = TRANSPOSED if transposed else CONVOLUTIONS
    layer: _ConvNd = kinds[axes - 1](
        inside, outside, taps, stride, padding, dilation=dilation, groups=groups, padding_mode=mode, bias=False
    )
    pixels = []
    for k, s, d, p in zip(taps, stride, dilation, padding, strict=True):
        least = max(1, d * (k - 1) + 1 - 2 * p)
        if transposed:
            least = max(1, math.ceil((2 * p - d * (k - 1)) / s) + 1)
        least = max(least, {"circular": p, "reflect": p + 1}.get(mode, 1))
        pixels.append(draw(st.integers(least, least + 4)))
    fill(layer, seed=draw(st.integers(0, 1000)), kind=draw(st.sampled_from(["plain", "positive", "one tap", "uneven"])))
    return layer, (inside, *pixels)
