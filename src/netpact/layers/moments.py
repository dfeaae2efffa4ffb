"""Images brought to one size by their moments, in integers: what is drawn becomes as high and wide as in every image.

    mean, deviation   of rows and of columns, each pixel counting by its brightness
    down              one pixel of the result is deviation_rows / (13/56 side) pixels, side being the shorter one
    across            one is sqrt(deviation_rows deviation_columns / (13/56 side * 10/56 side)): what is
                      narrow beside its height stays narrower than what is wide
    pixels            by linear interpolation between the four nearest, the mean in the middle; 0 outside the image

This is moment normalisation (Casey 1970; Liu et al. 2004 on digits). That it helps, the two targets and the geometric
mean were chosen on digits drawn by fonts (docs/search.md).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_PLACES = 256  # positions are multiples of 1/256 of a pixel
_DEVIATIONS = 64  # deviations of 1/64
_HEIGHT, _WIDTH, _SIDE = 13, 10, 56  # what the deviations become: these shares of the shorter side
_LEAST_HEIGHT, _LEAST_WIDTH = 64, 32  # deviations in 64ths: less is enlarged no further


class _Extent(NamedTuple):
    """Of one axis of each image."""

    mean: Tensor  # in 256ths of a pixel
    deviation: Tensor  # in 64ths


def resize_by_moments(pixels: Tensor, grey: Tensor) -> Tensor:
    """Images of integers 0..255 (n, channels, height, width), sampled anew by the mass of `grey`, their mean.

    Sides of up to 64 pixels keep every integer below 2^63, and every sum that is a float below 2^24.
    """
    height, width = pixels.shape[2:]
    side = min(height, width)
    rows, columns = _measure(grey.sum(dim=2), _LEAST_HEIGHT), _measure(grey.sum(dim=1), _LEAST_WIDTH)
    unit = _PLACES // _DEVIATIONS * _SIDE
    down = (rows.deviation * unit).floor_divide(_HEIGHT * side)
    area = (rows.deviation * columns.deviation * (unit * unit)).floor_divide(_HEIGHT * _WIDTH * side * side)
    across = integer_root(area)
    pixels = _sample(pixels, 2, _positions(rows.mean, down, height))
    pixels = _sample(pixels, 3, _positions(columns.mean, across, width))
    return torch.floor(pixels / (_PLACES * _PLACES))


def integer_root(numbers: Tensor) -> Tensor:
    """The integer part of the square root of int64 numbers below 2^62.

    In float64 it may come out too large by one, just below a square, and never too small: a square is rounded by at
    most a factor 1 - 2^-53, its root by half of that, and that is less than half the step between floats around an
    integer below 2^31.
    """
    root = torch.sqrt(numbers.double()).long()
    return torch.where(root * root > numbers, root - 1, root)


def _measure(mass: Tensor, least: int) -> _Extent:
    """Of the mass in each row or column, (n, places) of int64."""
    places = torch.arange(mass.shape[1], device=mass.device)
    whole = mass.sum(dim=1).clamp(min=1)
    first, second = (mass * places).sum(dim=1), (mass * places * places).sum(dim=1)
    variance = ((whole * second - first * first) * (_DEVIATIONS * _DEVIATIONS)).floor_divide(whole * whole)
    return _Extent((_PLACES * first).floor_divide(whole), integer_root(variance).clamp(min=least))


def _positions(mean: Tensor, step: Tensor, count: int) -> Tensor:
    """Where each row or column of the result comes from, in 256ths of a pixel: (n, count)."""
    doubled = 2 * torch.arange(count, device=mean.device) - (count - 1)
    return mean[:, None] + (doubled * step[:, None]).floor_divide(2)


def _sample(pixels: Tensor, axis: int, positions: Tensor) -> Tensor:
    """256 times the values at these positions along the axis; what lies outside is 0."""
    before = positions.floor_divide(_PLACES)
    share = (positions - before * _PLACES).to(pixels.dtype)
    found = [_take(pixels, axis, before + step) for step in (0, 1)]
    share = share[:, None, :, None] if axis == 2 else share[:, None, None, :]
    return (_PLACES - share) * found[0] + share * found[1]


def _take(pixels: Tensor, axis: int, places: Tensor) -> Tensor:
    inside = (places >= 0) & (places < pixels.shape[axis])
    kept = places.clamp(0, pixels.shape[axis] - 1)
    kept, inside = (one[:, None, :, None] if axis == 2 else one[:, None, None, :] for one in (kept, inside))
    shape = list(pixels.shape)
    shape[axis] = places.shape[1]
    return torch.where(inside, pixels.gather(axis, kept.expand(shape)), pixels.new_zeros(()))
