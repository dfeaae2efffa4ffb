"""How many numbers an average is made of, and what it divides by: known, or not exact."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor


class Window(NamedTuple):
    """A sum of at most so many terms, divided by one number everywhere."""

    terms: int
    divisor: int


def _pooled(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Window | None:
    sides = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size, kernel_size)
    pads = padding if isinstance(padding, (tuple, list)) else (padding,)
    if ceil_mode or (any(pads) and not count_include_pad) or (divisor_override is not None and divisor_override < 1):
        return None
    terms = math.prod(sides)
    return Window(terms, divisor_override or terms)


def _adaptive(x: Tensor, output_size: Any) -> Window | None:
    wanted = output_size if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    sides = [(size, size if want is None else want) for size, want in zip(x.shape[-2:], wanted, strict=True)]
    if any(want < 1 or size % want for size, want in sides):
        return None
    terms = math.prod(size // want for size, want in sides)
    return Window(terms, terms)


def _summed(x: Tensor, dim: Any, divide: bool) -> Window | None:
    if dim is None:
        return None  # over the samples too
    axes = dim if isinstance(dim, (tuple, list)) else (dim,)
    terms = math.prod(x.shape[axis] for axis in axes)
    return Window(terms, terms if divide else 1) if terms else None


def _mean(x: Tensor, dim: Any = None, keepdim: bool = False) -> Window | None:
    return _summed(x, dim, True)


def _sum(x: Tensor, dim: Any = None, keepdim: bool = False) -> Window | None:
    return _summed(x, dim, False)


AVERAGED: dict[str, Callable[..., Window | None]] = {
    "avg_pool2d": _pooled,
    "adaptive_avg_pool2d": _adaptive,
    "mean": _mean,
    "sum": _sum,
}
