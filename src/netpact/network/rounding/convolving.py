"""Convolutions in float64. torch has no fast one: its windows are written out here, and multiplied as a matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

_ENTRIES = 1 << 17  # of the windows written out at a time: one megabyte, within a core's own cache


def convolve(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """functional.conv2d. Each entry is a sum of the same products, in another order."""
    if x.dtype != torch.float64 or x.dim() != 4 or groups != 1 or isinstance(padding, str) or not len(x):
        return functional.conv2d(x, weight, bias, stride, padding, dilation, groups)
    (up, across), (tall, wide), (down, right) = (_pair(value) for value in (stride, padding, dilation))
    if tall or wide:
        x = functional.pad(x, (wide, wide, tall, tall))
    outputs, inputs, height, width = weight.shape
    rows, columns = (
        ((x.shape[2] - down * (height - 1) - 1) // up + 1),
        ((x.shape[3] - right * (width - 1) - 1) // across + 1),
    )
    x = x.contiguous()
    sample, channel, line, place = x.stride()
    shape = (len(x), inputs, height, width, rows, columns)
    windows = x.as_strided(shape, (sample, channel, down * line, right * place, up * line, across * place))
    matrix = weight.detach().reshape(outputs, -1).numpy()
    result = torch.empty(len(x), outputs, rows * columns, dtype=torch.float64)
    part = max(1, _ENTRIES // math.prod(shape[1:]))
    for first in range(0, len(x), part):
        written = windows[first : first + part].reshape(-1, inputs * height * width, rows * columns)
        np.matmul(matrix, written.numpy(), out=result[first : first + part].numpy())
    if bias is not None:
        result += bias.detach().view(-1, 1)
    return result.view(len(x), outputs, rows, columns)


def _pair(value: Any) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    return (value[0], value[0]) if len(value) == 1 else (value[0], value[1])
