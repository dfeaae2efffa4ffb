"""The range of a layer's input that is kept: what lies outside is clamped, what lies inside is rounded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

_LOOKED_AT = 200_000  # entries; more change nothing
_SHARES = np.concatenate([[1.0], np.linspace(0.98, 0.3, 35)])  # of the whole range, tried one by one


@dataclass(frozen=True)
class Range:
    """What calibration inputs show of one layer's input.

    step     of the grid from low to high that has the least squared error
    widest   the largest magnitude seen
    whole    every entry is an integer multiple of 1/255: pixels
    """

    low: float
    high: float
    step: float
    widest: float
    pixels: bool


def find_range(inputs: Tensor, *, bits: int) -> Range:
    entries = inputs.detach().flatten().double()
    lowest, highest = min(0.0, float(entries.min())), max(0.0, float(entries.max()))
    widest = max(-lowest, highest)
    pixels = lowest == 0 and highest <= 1 and bool(((entries * 255 - torch.round(entries * 255)).abs() < 1e-4).all())
    if not widest:
        return Range(0.0, 1.0, 1.0 / (2**bits - 1), 0.0, pixels)
    seen = entries[:: max(1, len(entries) // _LOOKED_AT)].numpy()
    best = min(_SHARES, key=lambda share: _error(seen, share * lowest, share * highest, bits))
    low, high = best * lowest, best * highest
    return Range(low, high, (high - low) / (2**bits - 1), widest, pixels)


def _error(seen: np.ndarray, low: float, high: float, bits: int) -> float:
    step = (high - low) / (2**bits - 1)
    rounded = np.clip(np.rint(seen / step), round(low / step), round(high / step)) * step
    return float(np.square(seen - rounded).sum())
