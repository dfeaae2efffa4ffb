"""What comes from the caller: checked once, and scaled so that nothing later overflows."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from netpact.core.checks import check_integer
from netpact.core.errors import PactError


def prepare_weight(weight: Tensor, *, dimensions: tuple[int, ...]) -> tuple[Tensor, int]:
    """The weight in float64 times 2^-exponent, its largest entry between 1/2 and 1 (or all 0), and the exponent."""
    if not isinstance(weight, Tensor) or not weight.is_floating_point():
        kind = weight.dtype if isinstance(weight, Tensor) else type(weight).__name__
        raise PactError(f"must be a tensor of floating-point numbers, got {kind}", where="weight")
    if weight.layout != torch.strided or weight.is_meta:
        raise PactError("must be a dense tensor with values", where="weight", hint="use .to_dense()")
    if weight.dim() not in dimensions or weight.numel() == 0:
        allowed = " or ".join(map(str, dimensions))
        raise PactError(
            f"must be a tensor of {allowed} dimensions with entries, got shape {tuple(weight.shape)}", where="weight"
        )
    values = weight.detach().to("cpu", torch.float64).numpy()
    if not np.isfinite(values).all():
        raise PactError("it holds NaN or infinity", where="weight", hint="the training may have diverged")
    exponent = math.frexp(float(np.abs(values).max()))[1]
    return torch.from_numpy(np.ldexp(values, -exponent)), exponent


def scale_down(value: float, exponent: int) -> float:
    """A lower bound on value * 2^exponent, value >= 0."""
    try:
        return math.nextafter(math.ldexp(value, exponent), 0.0)
    except OverflowError:
        return sys.float_info.max


def scale_up(value: float, exponent: int) -> float:
    """An upper bound on value * 2^exponent."""
    try:
        return math.nextafter(math.ldexp(value, exponent), math.inf)
    except OverflowError:
        return math.inf


def per_axis(image_size: int | Sequence[int] | None, axes: int) -> tuple[int, ...] | None:
    if image_size is None:
        return None
    sizes = (image_size,) * axes if isinstance(image_size, int) else tuple(image_size)
    if len(sizes) != axes:
        raise PactError(f"must be an integer, or one for each of {axes} axes, got {image_size!r}", where="image_size")
    return tuple(check_integer(size, where="image_size", least=1) for size in sizes)
