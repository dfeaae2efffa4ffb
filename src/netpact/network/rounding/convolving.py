"""Convolutions in float64. torch has no fast one: their windows are written out here, and multiplied as a matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

_ENTRIES = 1 << 17  # of the windows written out at a time: one megabyte, within a core's own cache


class Convolver:
    """functional.conv2d: each entry is a sum of the same products, in another order.

    Memory for the windows is kept from call to call: asking the system for it anew takes as long as the products.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, tuple[int, ...]], Tensor] = {}

    def __call__(
        self,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        if x.dtype != torch.float64 or x.dim() != 4 or groups != 1 or isinstance(padding, str) or not x.numel():
            return functional.conv2d(x, weight, bias, stride, padding, dilation, groups)
        steps, around, apart = (_pair(value) for value in (stride, padding, dilation))
        inputs, taps = weight.shape[1], weight.shape[2:]
        sides = [size + 2 * more for size, more in zip(x.shape[2:], around, strict=True)]
        places = [(n - d * (k - 1) - 1) // s + 1 for n, d, k, s in zip(sides, apart, taps, steps, strict=True)]
        if inputs != x.shape[1] or min(places) < 1:
            return functional.conv2d(x, weight, bias, stride, padding, dilation)  # says what is wrong
        at_once = max(1, _ENTRIES // (inputs * math.prod(taps) * math.prod(places)))
        frame = self._memory("frame", (at_once, inputs, *sides)) if any(around) else None
        windows = self._memory("windows", (at_once, inputs, *taps, *places))
        matrix = weight.detach().reshape(len(weight), -1).numpy()
        result = torch.empty(len(x), len(weight), *places, dtype=torch.float64)
        for first, images in enumerate(x.split(at_once)):
            count = len(images)
            if frame is not None:
                (up, left), (high, wide) = around, x.shape[2:]
                frame[:count, :, up : up + high, left : left + wide] = images  # zeros stay around it
                images = frame[:count]
            written = windows[:count]
            written.copy_(_view_windows(images, written.shape, steps, apart))
            rows = result[first * at_once : first * at_once + count].view(count, len(weight), -1)
            np.matmul(matrix, written.view(count, -1, math.prod(places)).numpy(), out=rows.numpy())
        return result if bias is None else result.add_(bias.detach().view(-1, 1, 1))

    def _memory(self, use: str, shape: tuple[int, ...]) -> Tensor:
        if (use, shape) not in self._kept:
            self._kept[use, shape] = torch.zeros(shape, dtype=torch.float64)
        return self._kept[use, shape]


def _view_windows(images: Tensor, shape: torch.Size, steps: tuple[int, int], apart: tuple[int, int]) -> Tensor:
    sample, channel, line, place = images.stride()
    tap = (apart[0] * line, apart[1] * place)
    return images.as_strided(shape, (sample, channel, *tap, steps[0] * line, steps[1] * place))


def _pair(value: Any) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    return (value[0], value[0]) if len(value) == 1 else (value[0], value[1])
