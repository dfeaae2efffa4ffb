"""A fixed stem: how much edge of each orientation there is in each cell of the image, in integers.

Nothing in it is learned and nothing is rounded: pixels become integers 0..255 and every later step is integer
arithmetic in float32 below 2^24, so all machines compute the same features and no tolerance is needed. Inputs are meant
to lie between 0 and 1; what lies outside is cut off there, so that this holds for every input. In order:

    straighten  shear the image so that its two axes are uncorrelated, each row moved by whole pixels (optional)
    Gx, Gy      derivatives of the mean of the channels, (-2 -3 0 3 2) one way and (1 3 4 3 1) the other
    r_k         max(0, 16 cos(t_k) Gx + 16 sin(t_k) Gy),  t_k = 2 pi k / orientations
    inhibit     max(0, 16 r_k - inhibition * sum_j r_j): an edge counts for the orientations near its own only
    colour      with three channels also the parts above and below zero of R + G + B - 384, R - G, R + G - 2 B
    pool        sums of a 64th over square cells
    mirror      add the same of the mirror image, and keep the left half: left and right are not told apart (optional)
    root        the whole part of the square root
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import handle_torch_function, has_torch_function_unary

from netpact.layers.window_sums import sum_windows

_COLOURS = 6
_COLOUR_SCALE = 16  # colour fills areas where edges are thin lines: this brings both to the same order
_FINENESS = 256  # slopes of the shear are multiples of 1/256

# Limits that keep every number below 2^24.
MAX_SIDE, MAX_CELL, MAX_ORIENTATIONS, MAX_INHIBITION = 64, 12, 32, 128


class OrientedEdges(nn.Module):
    """The stem as a layer without parameters."""

    def __init__(
        self, *, orientations: int, inhibition: int, cell: int, stride: int, straighten: bool, mirror: bool
    ) -> None:
        super().__init__()
        self.orientations, self.inhibition = orientations, inhibition
        self.cell, self.stride, self.straighten, self.mirror = cell, stride, straighten, mirror

    def forward(self, images: Tensor) -> Tensor:
        return orient(
            images,
            orientations=self.orientations,
            inhibition=self.inhibition,
            cell=self.cell,
            stride=self.stride,
            straighten=self.straighten,
            mirror=self.mirror,
        )

    def extra_repr(self) -> str:
        return (
            f"orientations={self.orientations}, inhibition={self.inhibition}, cell={self.cell}, "
            f"stride={self.stride}, straighten={self.straighten}, mirror={self.mirror}"
        )


def count_features(
    *, channels: int, height: int, width: int, orientations: int, cell: int, stride: int, mirror: bool
) -> tuple[int, int, int]:
    """Maps, rows and columns of what `orient` returns."""
    maps = orientations + (_COLOURS if channels == 3 else 0)
    rows, columns = count_cells(height, width, cell, stride)
    return maps, rows, (columns + 1) // 2 if mirror else columns


def orient(
    images: Tensor, *, orientations: int, inhibition: int, cell: int, stride: int, straighten: bool, mirror: bool
) -> Tensor:
    """Images (n, channels, height, width) from 0 to 1; features (n, maps, rows, columns) that are integers."""
    if has_torch_function_unary(images):
        return handle_torch_function(
            orient,
            (images,),
            images,
            orientations=orientations,
            inhibition=inhibition,
            cell=cell,
            stride=stride,
            straighten=straighten,
            mirror=mirror,
        )
    pixels = torch.round(images.double() * 255).clamp(0, 255).float()
    if straighten:
        pixels = straighten_rows(pixels)
    pooled = pool_cells(_maps(pixels, orientations, inhibition), cell, stride).double()
    if mirror:
        pooled = pooled + pool_cells(_maps(pixels.flip(3), orientations, inhibition), cell, stride)
        pooled = pooled[..., : (pooled.shape[3] + 1) // 2]
    return whole_root(pooled).to(images.dtype)


def straighten_rows(pixels: Tensor) -> Tensor:
    """Images of integers, sheared so that their two axes are uncorrelated."""
    return _shift_rows(pixels, _shear(mean_of_channels(pixels).squeeze(1).long()))


def mean_of_channels(pixels: Tensor) -> Tensor:
    return torch.floor(pixels.sum(dim=1, keepdim=True) / pixels.shape[1])


def _maps(pixels: Tensor, orientations: int, inhibition: int) -> Tensor:
    edges = _edges(mean_of_channels(pixels), orientations)
    maps = torch.floor(torch.relu(16 * edges - inhibition * edges.sum(dim=1, keepdim=True)) / 64)
    if pixels.shape[1] == 3:
        maps = torch.cat([maps, _COLOUR_SCALE * _colours(pixels)], dim=1)
    return maps


def pool_cells(maps: Tensor, cell: int, stride: int) -> Tensor:
    padding = _padding(cell, stride)
    return sum_windows(maps, (cell, cell), (stride, stride), (padding, padding))


def count_cells(height: int, width: int, cell: int, stride: int) -> tuple[int, int]:
    """Rows and columns of cells that `pool_cells` sums over."""
    padding = _padding(cell, stride)
    rows, columns = ((side + 2 * padding - cell) // stride + 1 for side in (height, width))
    return rows, columns


def _padding(cell: int, stride: int) -> int:
    return (cell - stride) // 2


def _edges(grey: Tensor, orientations: int) -> Tensor:
    # Sums of shifted images, not a convolution: a library may compute one by methods that are exact for no order.
    across, along = _smooth(_slope(grey, 3), 2), _smooth(_slope(grey, 2), 3)
    turns = [2 * math.pi * k / orientations for k in range(orientations)]
    cosines = grey.new_tensor([round(16 * math.cos(turn)) for turn in turns]).view(1, -1, 1, 1)
    sines = grey.new_tensor([round(16 * math.sin(turn)) for turn in turns]).view(1, -1, 1, 1)
    return torch.relu(cosines * across + sines * along)


def _slope(images: Tensor, axis: int) -> Tensor:
    far_left, left, _, right, far_right = _neighbours(images, axis)
    return 2 * (far_right - far_left) + 3 * (right - left)


def _smooth(images: Tensor, axis: int) -> Tensor:
    far_left, left, here, right, far_right = _neighbours(images, axis)
    return far_left + far_right + 3 * (left + right) + 4 * here


def _neighbours(images: Tensor, axis: int) -> list[Tensor]:
    """The image moved by -2 to 2 pixels along one axis, zeros coming in."""
    padded = functional.pad(images, (2, 2, 0, 0) if axis == 3 else (0, 0, 2, 2))
    return [padded.narrow(axis, start, images.shape[axis]) for start in range(5)]


def _colours(pixels: Tensor) -> Tensor:
    red, green, blue = pixels.unbind(dim=1)
    opponents = torch.stack([red + green + blue - 384, red - green, red + green - 2 * blue], dim=1)
    return torch.cat([torch.relu(opponents), torch.relu(-opponents)], dim=1)


def _shear(grey: Tensor) -> Tensor:
    """By how many pixels to move each row: cov(row, column) / var(row) times its distance to the middle."""
    rows, columns = (torch.arange(grey.shape[axis], device=grey.device) for axis in (1, 2))
    by_row, by_column = grey.sum(dim=2), grey.sum(dim=1)
    mass = by_row.sum(dim=1)
    row_sum, column_sum = (by_row * rows).sum(dim=1), (by_column * columns).sum(dim=1)
    mixed = ((grey * columns).sum(dim=2) * rows).sum(dim=1)
    covariance = mass * mixed - row_sum * column_sum
    variance = mass * (by_row * rows * rows).sum(dim=1) - row_sum * row_sum
    flat = variance == 0
    slope = torch.where(flat, 0, _FINENESS * covariance).floor_divide(torch.where(flat, 1, variance))
    distance = mass[:, None] * rows - row_sum[:, None]  # times the mass, to stay whole
    unit = 2 * _FINENESS * mass.clamp(min=1)[:, None]
    return (2 * slope[:, None] * distance + unit // 2).floor_divide(unit)


def _shift_rows(images: Tensor, shifts: Tensor) -> Tensor:
    """Row r of image n reads shifts[n, r] pixels further right; what comes from outside is 0."""
    width = images.shape[3]
    source = torch.arange(width, device=images.device) + shifts[:, None, :, None]
    inside = (source >= 0) & (source < width)
    moved = images.gather(3, source.clamp(0, width - 1).expand_as(images))
    return torch.where(inside, moved, images.new_zeros(()))


def whole_root(numbers: Tensor) -> Tensor:
    """The integer part of the square root of integers."""
    root = torch.floor(torch.sqrt(numbers))
    root = torch.where(root * root > numbers, root - 1, root)
    return torch.where((root + 1) * (root + 1) <= numbers, root + 1, root)
