"""PReLU: a slope below 0 that is a parameter, one for all channels or one for each."""

from __future__ import annotations

import torch
from torch import Tensor

from netpact.network.rounding.tolerance import Rounding, spread_of, value_of


def prelu_rule(r: Rounding, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """f(x) = x above 0 and a x below, a with the spread t:

    |f(x) - f'(x')| <= max(1, |a| + t) s + t |x| = m,   spread = m + gamma_2 (|f(x)| + m)
    """
    given, s, slope, wide = value_of(x), spread_of(x), value_of(weight), spread_of(weight)
    if slope.numel() > 1:
        sides = (1, -1, *(1,) * (given.dim() - 2))
        slope, wide = slope.reshape(sides), wide.reshape(sides)
    value = torch.where(given > 0, given, slope * given)
    moved = (slope.abs() + wide).clamp(min=1) * s + wide * given.abs()
    size = value.abs() + moved
    return value, r.limit(moved, size) + r.gamma(2) * size
