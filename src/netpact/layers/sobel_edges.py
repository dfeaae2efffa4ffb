"""A fixed stem: edges of each direction by Sobel's filter, of images that may be brought to one size; in integers.

Nothing in it is learned and nothing is rounded: pixels become integers 0..255 and every later step is integer
arithmetic that float32 (below 2^24) or float64 (below 2^53) holds exactly, so all machines compute the same features.
Inputs are meant to lie between 0 and 1; what lies outside is cut off there. In order:

    straighten  shear the image so that its two axes are uncorrelated (optional; as in the stem of oriented edges)
    resize      bring what is drawn to one height and width, by netpact.layers.moments (optional)
    Gx, Gy      Sobel's derivatives of the mean of the channels; beyond its border an image goes on as it ends
    r_k         max(0, 16 cos(t_k) Gx + 16 sin(t_k) Gy),  t_k = 2 pi k / orientations
    inhibit     max(0, 16 r_k - inhibition * sum_j r_j) / 64: an edge counts for the orientations near its own only
    pool        sums over square cells
    mirror      add the same of the mirror image, and keep the left half: left and right are not told apart (optional)
    root        the whole part of 4 v^(1/2), or of 64 v^(1/4)

The stem of oriented edges (netpact.layers.oriented) has another filter and maps of colours, and neither sizes nor
fourth roots.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import handle_torch_function, has_torch_function_unary

from netpact.layers.moments import resize_by_moments
from netpact.layers.oriented import count_cells, mean_of_channels, pool_cells, straighten_rows, whole_root

# Limits that keep every number in range.
MAX_SIDE, MAX_CELL, MAX_ORIENTATIONS, MAX_INHIBITION = 64, 12, 32, 128
MAX_ROOTS = 2
_SCALE = {1: 1 << 4, 2: 1 << 24}  # of what roots are taken of: 4 v^(1/2), 64 v^(1/4)
_AT_ONCE = 64  # images whose maps a processor's caches hold


@dataclass(frozen=True)
class SobelOptions:
    """What the stem computes.

    inhibition  in sixteenths
    cell        side of a cell in pixels, and `stride` from one to the next
    roots       1 for square roots of the sums over cells, 2 for fourth roots
    """

    orientations: int
    inhibition: int
    cell: int
    stride: int
    roots: int
    straighten: bool = False
    resize: bool = False
    mirror: bool = False


class SobelEdges(nn.Module):
    """The stem as a layer without parameters."""

    def __init__(self, options: SobelOptions) -> None:
        super().__init__()
        self.options = options

    def forward(self, images: Tensor) -> Tensor:
        return sobel(images, options=self.options)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in asdict(self.options).items())


def sobel(images: Tensor, *, options: SobelOptions) -> Tensor:
    """Images (n, channels, height, width) from 0 to 1; features (n, orientations, rows, columns) that are integers."""
    if has_torch_function_unary(images):
        return handle_torch_function(sobel, (images,), images, options=options)
    if torch.compiler.is_compiling() or len(images) <= _AT_ONCE:
        return _features(images, options)
    return torch.cat([_features(part, options) for part in images.split(_AT_ONCE)])


def count_sobel(options: SobelOptions, *, height: int, width: int) -> tuple[int, int, int]:
    """Maps, rows and columns of what `sobel` returns."""
    rows, columns = count_cells(height, width, options.cell, options.stride)
    return options.orientations, rows, (columns + 1) // 2 if options.mirror else columns


def _features(images: Tensor, options: SobelOptions) -> Tensor:
    pixels = torch.round(images.double() * 255).clamp(0, 255).float()
    if options.straighten:
        pixels = straighten_rows(pixels)
    if options.resize:
        pixels = resize_by_moments(pixels, mean_of_channels(pixels).squeeze(1).long())
    grey = mean_of_channels(pixels)
    sums = _sums(grey, options)
    if options.mirror:
        sums = sums + _sums(grey.flip(3), options)
        sums = sums[..., : (sums.shape[3] + 1) // 2]
    root = whole_root(sums * _SCALE[options.roots])
    return (whole_root(root) if options.roots == MAX_ROOTS else root).to(images.dtype)


def _sums(grey: Tensor, options: SobelOptions) -> Tensor:
    edges = _edges(grey, options.orientations)
    maps = torch.floor(torch.relu(16 * edges - options.inhibition * edges.sum(dim=1, keepdim=True)) / 64)
    return pool_cells(maps, options.cell, options.stride).double()


def _edges(grey: Tensor, orientations: int) -> Tensor:
    # Sums of shifted images, not a convolution: a library may compute one by methods that are exact for no order.
    framed = functional.pad(grey, (1, 1, 1, 1), mode="replicate")
    left, middle, right = (framed.narrow(3, start, grey.shape[3]) for start in range(3))
    above, _, below = _three_rows(left + 2 * middle + right)
    across, along = _smooth(right - left), below - above
    turns = [2 * math.pi * k / orientations for k in range(orientations)]
    cosines, sines = (
        grey.new_tensor([round(16 * of(turn)) for turn in turns]).view(1, -1, 1, 1) for of in (math.cos, math.sin)
    )
    return torch.relu(cosines * across + sines * along)


def _smooth(framed: Tensor) -> Tensor:
    above, here, below = _three_rows(framed)
    return above + 2 * here + below


def _three_rows(framed: Tensor) -> tuple[Tensor, ...]:
    """What lies above each pixel, the pixel, and what lies below; `framed` has a row more at both ends."""
    return tuple(framed.narrow(2, start, framed.shape[2] - 2) for start in range(3))
