"""A fixed stem: edges, bars, how contours bend, and colours, as slow waves across the image; in integers.

Nothing in it is learned and nothing is rounded: pixels become integers 0..255 and every later step is integer
arithmetic that float32 (below 2^24) or float64 (below 2^53) holds exactly, so all machines compute the same features.
Inputs are meant to lie between 0 and 1; what lies outside is cut off there. In order:

    straighten  shear the image so that its two axes are uncorrelated (optional; as in the stem of oriented edges)
    maps        what each pixel shows, by netpact.layers.contour_maps
    pool        sums over cells, each twice as wide as the step from one to the next
    mirror      add the map that a mirror image would give, mirrored: left and right are not told apart (optional)
    root        the integer part of the square root
    waves       sums over all cells, weighed by cosines: of the lowest frequencies only
    normalise   by the mean over all maps of the image; what every image has on average is subtracted
    constant    one map more of constants: what a bias would be
"""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor, nn
from torch.overrides import handle_torch_function, has_torch_function_unary

from netpact.layers.contour_maps import Map, draw_maps, list_maps
from netpact.layers.oriented import straighten_rows, whole_root
from netpact.layers.window_sums import sum_windows

MAX_SIDE, MAX_CELLS, MAX_STEP = 64, 16, 8  # keep every sum within what float32 holds exactly
_WAVE, _FLAT = 64, 45  # cosines are multiples of 1/64; the flat wave is smaller by the root of 2, for equal lengths
_UNIT = 16  # features are in units of the image's mean root over this
_COLOUR = 2  # a flat colour is larger than its waves by so much more than a flat amount of edge
_CONSTANT = 32
_AT_ONCE = 32  # images whose maps a processor's caches hold: four times as fast as with 500
_LARGEST = 4095  # what lies beyond is cut off: sums of features stay within what float32 holds exactly


class Contours(nn.Module):
    """The stem as a layer without parameters."""

    def __init__(self, *, cells: int, rows: int, columns: int, straighten: bool, mirror: bool) -> None:
        super().__init__()
        self.cells, self.rows, self.columns = cells, rows, columns
        self.straighten, self.mirror = straighten, mirror

    def forward(self, images: Tensor) -> Tensor:
        return contour(
            images,
            cells=self.cells,
            rows=self.rows,
            columns=self.columns,
            straighten=self.straighten,
            mirror=self.mirror,
        )

    def extra_repr(self) -> str:
        return (
            f"cells={self.cells}, rows={self.rows}, columns={self.columns}, "
            f"straighten={self.straighten}, mirror={self.mirror}"
        )


def count_contours(*, channels: int, rows: int, columns: int) -> tuple[int, int, int]:
    """Maps, rows and columns of what `contour` returns."""
    return len(list_maps(channels)) + 1, rows, columns


def count_cells(*, height: int, width: int, cells: int) -> tuple[int, int]:
    """Cells down and across: so many along the shorter side, or one more where the side is no multiple of them."""
    step = _step(height, width, cells)
    down, across = ((side + 2 * (step // 2) - 2 * step) // step + 1 for side in (height, width))
    return down, across


def contour(images: Tensor, *, cells: int, rows: int, columns: int, straighten: bool, mirror: bool) -> Tensor:
    """Images (n, channels, height, width) from 0 to 1; features (n, maps, rows, columns) that are integers."""
    if has_torch_function_unary(images):
        return handle_torch_function(
            contour,
            (images,),
            images,
            cells=cells,
            rows=rows,
            columns=columns,
            straighten=straighten,
            mirror=mirror,
        )
    draw = partial(_contour, cells=cells, rows=rows, columns=columns, straighten=straighten, mirror=mirror)
    if torch.compiler.is_compiling() or len(images) <= _AT_ONCE:
        return draw(images)
    return torch.cat([draw(part) for part in images.split(_AT_ONCE)])


def _contour(images: Tensor, *, cells: int, rows: int, columns: int, straighten: bool, mirror: bool) -> Tensor:
    pixels = torch.round(images.double() * 255).clamp(0, 255).float()
    if straighten:
        pixels = straighten_rows(pixels)
    height, width = images.shape[2:]
    maps = list_maps(images.shape[1])
    pooled = _pool(draw_maps(pixels), _step(height, width, cells)).double()
    pooled = pooled * pooled.new_tensor([one.loudness for one in maps]).view(1, -1, 1, 1)
    if mirror:
        pooled = pooled + pooled[:, [one.mirrored for one in maps]].flip(3)
    roots = whole_root(pooled)
    waves = _waves(roots, rows, columns, maps, mirror=mirror)
    features = _normalise(waves, roots, maps, flat=[not (mirror and odd) for odd in _odd(maps)])
    return torch.cat([features, torch.full_like(features[:, :1], _CONSTANT)], dim=1).to(images.dtype)


def _step(height: int, width: int, cells: int) -> int:
    return min(height, width) // cells


def _pool(maps: Tensor, step: int) -> Tensor:
    return sum_windows(maps, (2 * step, 2 * step), (step, step), (step // 2, step // 2))


def _wave(count: int, frequencies: list[int]) -> Tensor:
    """cos(pi f (2 i + 1) / 2 count) for each frequency f and place i, in 64ths."""
    waves = [
        [round(_WAVE * math.cos(math.pi * f * (2 * i + 1) / (2 * count))) if f else _FLAT for i in range(count)]
        for f in frequencies
    ]
    return torch.tensor(waves, dtype=torch.float64)


def _waves(roots: Tensor, rows: int, columns: int, maps: tuple[Map, ...], *, mirror: bool) -> Tensor:
    """Amplitudes of waves down and across the image.

    Of a map and its mirror image, which hold the same then, one has the even waves across and the other the odd ones.
    """
    device, (height, width) = roots.device, roots.shape[2:]
    down = _wave(height, list(range(rows))).to(device)
    if not mirror:
        return down @ roots @ _wave(width, list(range(columns))).to(device).T
    even, odd = (_wave(width, [2 * f + start for f in range(columns)]).to(device) for start in (0, 1))
    has_odd = torch.tensor(_odd(maps), device=device).view(-1, 1, 1)
    return down @ torch.where(has_odd, roots @ odd.T, roots @ even.T)


def _odd(maps: tuple[Map, ...]) -> list[bool]:
    """The later one of each pair."""
    return [one.mirrored < number for number, one in enumerate(maps)]


def _normalise(waves: Tensor, roots: Tensor, maps: tuple[Map, ...], flat: list[bool]) -> Tensor:
    """In units of the mean over all maps and cells of the image, which the mean of each map is measured from.

    flat  which maps have their mean as their first wave
    """
    total = roots.sum(dim=(1, 2, 3)).clamp(min=1)[:, None, None, None]
    features = len(maps) * waves
    features[:, :, :1, :1] -= _FLAT * _FLAT * total * features.new_tensor(flat).view(1, -1, 1, 1)
    unit = torch.full(features.shape[1:], _UNIT, dtype=features.dtype, device=features.device)
    unit[[one.colour for one in maps], 0, 0] *= _COLOUR
    return torch.floor(features / (unit * total)).clamp(-_LARGEST, _LARGEST)
