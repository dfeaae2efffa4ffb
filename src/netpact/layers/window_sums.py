"""Sums over windows of images: of integers, and so exact in every order."""

from __future__ import annotations

from functools import reduce
from operator import add

import torch
from torch import Tensor
from torch.nn import functional

Pair = tuple[int, int]


def sum_windows(x: Tensor, kernel: Pair, stride: Pair, padding: Pair = (0, 0)) -> Tensor:
    """The sum over each window; what lies outside the image is 0.

    A network that is exported gets sums of shifted images: exporters to ONNX lose the divisor of an average.
    """
    if not torch.compiler.is_exporting():
        return functional.avg_pool2d(x, kernel, stride, padding, divisor_override=1)
    x = functional.pad(x, (padding[1], padding[1], padding[0], padding[0]))
    for axis, (size, step) in zip((-2, -1), zip(kernel, stride, strict=True), strict=True):
        windows = (x.shape[axis] - size) // step + 1
        places = [slice(first, first + (windows - 1) * step + 1, step) for first in range(size)]
        x = reduce(add, [x[..., one, :] if axis == -2 else x[..., one] for one in places])
    return x
