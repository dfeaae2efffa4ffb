"""Convolutions in float64. torch has no fast one: here they are products of matrices, one for each row of taps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

_ENTRIES = 1 << 16  # of the strips written out at a time: half a megabyte, within a core's own cache


class Convolver:
    """functional.conv2d: each entry is a sum of the same products, in another order.

    An image is written out once for each tap of a row, shifted by it. What the taps of row j see are then whole lines
    of that, one after the other, so that a matrix product reads them where they are:

        y = sum_j W_j X_j        W_j: outputs x (inputs, taps of row j);  X_j: lines j, j + stride, ... of the strips

    Writing out all windows instead takes longer than the products. Lines are sorted by their number modulo the stride.
    Memory is kept from call to call: asking the system for it anew takes as long again.
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
        lines = -(-sides[0] // steps[0])
        strip = (inputs, taps[1], steps[0], lines, places[1])
        at_once = max(1, _ENTRIES // math.prod(strip))
        # Kept for this padding alone: around other images, numbers would stand where this one has zeros.
        frame = self._memory(f"frame {around}", (at_once, inputs, steps[0] * lines, sides[1]))
        strips = self._memory("strips", (at_once, *strip))
        product = self._memory("product", (at_once, len(weight), math.prod(places))).numpy()
        rows = [np.ascontiguousarray(weight.detach()[:, :, j].reshape(len(weight), -1).numpy()) for j in range(taps[0])]
        result = torch.empty(len(x), len(weight), *places, dtype=torch.float64)
        (up, left), (high, wide) = around, x.shape[2:]
        for first, images in enumerate(x.split(at_once)):
            count = len(images)
            frame[:count, :, up : up + high, left : left + wide] = images  # zeros stay around it
            written = strips[:count]
            written.copy_(_shifted(frame[:count], written.shape, steps, apart))
            found = result[first * at_once : first * at_once + count].view(count, len(weight), -1).numpy()
            for j, row in enumerate(rows):
                past, phase = divmod(j * apart[0], steps[0])
                seen = _lines(written, phase, past, places)
                if j == 0:
                    np.matmul(row, seen, out=found)
                else:
                    found += np.matmul(row, seen, out=product[:count])
        return result if bias is None else result.add_(bias.detach().view(-1, 1, 1))

    def _memory(self, use: str, shape: tuple[int, ...]) -> Tensor:
        if (use, shape) not in self._kept:
            self._kept[use, shape] = torch.zeros(shape, dtype=torch.float64)
        return self._kept[use, shape]


def _shifted(images: Tensor, shape: torch.Size, steps: tuple[int, int], apart: tuple[int, int]) -> Tensor:
    """(sample, channel, tap of a row, line modulo the stride, line by the stride, place), as a view."""
    sample, channel, line, place = images.stride()
    return images.as_strided(shape, (sample, channel, apart[1] * place, line, steps[0] * line, steps[1] * place))


def _lines(strips: Tensor, phase: int, past: int, places: list[int]) -> Any:
    """As one matrix for each sample, (channel and tap) x places: a view that a matrix product takes as it is."""
    count, inputs, taps, phases, lines, wide = strips.shape
    flat = strips.view(count, inputs * taps, phases * lines * wide).numpy()
    begin = (phase * lines + past) * wide
    return flat[:, :, begin : begin + math.prod(places)]


def _pair(value: Any) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    return (value[0], value[0]) if len(value) == 1 else (value[0], value[1])
