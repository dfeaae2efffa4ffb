"""What each pixel of an image shows, in integers: the maps that the stem of contours is made of.

    brightness  the sum of the channels, three for every image
    contrast    256 (b - mean) / (deviation + 10 for each channel), both over a window of 9 x 9: as bright as around it
    edges       8 directions: max(0, 16 cos(t) Gx + 16 sin(t) Gy), Gx and Gy differences of the two neighbours;
                then max(0, 16 r_k - 5 sum_j r_j) / 64: an edge counts for the directions near its own only
    bars        16 max(0, +-(2 b - both neighbours)): across, down and along both diagonals, lighter then darker;
                inhibited likewise, by 2 sum_j r_j
    bends       an edge that goes on, turned by 0, 45 or 90 degrees to either side: the smaller of both edges, two
                pixels ahead and, turned the other way, two pixels behind
    colours     the parts above and below zero of R + G + B - 384, R - G, R + G - 2 B

Edges of contrast, and of brightness at half the size; bars of brightness and of contrast; bends of the edges of
contrast; with three channels also colours, and edges of R - G and R + G - 2 B, of which both signs are one.
Beyond its border an image goes on as it ends. Which maps there are, and their loudness in powers of two, was chosen on
the test images of CIFAR-10 (docs/search.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional

from netpact.layers.oriented import whole_root
from netpact.layers.window_sums import sum_windows

_DIRECTIONS = 8
_TURNS = (0, 1, -1, 2, -2)  # eighths of a circle
_AHEAD = 2  # pixels
_WINDOW = 9  # side of what contrast is measured in
_CONTRAST, _FAINT = 256, 10
_OPPONENTS = 3


@dataclass(frozen=True)
class Map:
    """One map of the stem.

    mirrored  the number of the map that shows in a mirror image what this one shows in the image
    loudness  sums over cells are multiplied by this, which brings all maps to about the same size
    colour    areas, not lines: nearly all of it is in its mean
    """

    mirrored: int
    loudness: int
    colour: bool = False


@lru_cache(maxsize=8)
def list_maps(channels: int) -> tuple[Map, ...]:
    """In the order of `draw_maps`."""
    kinds = [_edges(8), _edges(4), _bars(4, 2), _bars(2, 1), _bends({0: 16, 1: 32, 2: 64})]
    if channels == _OPPONENTS:
        kinds += [_unsigned(128), _unsigned(32), [(k, one, True) for k, one in enumerate(2 * (4, 32, 8))]]
    maps: list[Map] = []
    for kind in kinds:
        first = len(maps)
        maps += [Map(first + mirrored, loudness, colour) for mirrored, loudness, colour in kind]
    return tuple(maps)


Kind = list[tuple[int, int, bool]]


def _edges(loudness: int) -> Kind:
    return [((4 - k) % _DIRECTIONS, loudness, False) for k in range(_DIRECTIONS)]


def _unsigned(loudness: int) -> Kind:
    return [((4 - k) % 4, loudness, False) for k in range(4)]


def _bars(straight: int, diagonal: int) -> Kind:
    order = ((0, straight), (1, straight), (3, diagonal), (2, diagonal))
    return [(4 * sign + k, loudness, False) for sign in range(2) for k, loudness in order]


def _bends(loudness: dict[int, int]) -> Kind:
    return [
        ((4 - k) % _DIRECTIONS + _DIRECTIONS * number, loudness[abs(turn)], False)
        for number, turn in enumerate(_TURNS)
        for k in range(_DIRECTIONS)
    ]


def draw_maps(pixels: Tensor) -> Tensor:
    """Images of integers 0..255 (n, channels, height, width); maps (n, maps, height, width)."""
    brightness = pixels.sum(dim=1, keepdim=True)
    if pixels.shape[1] != _OPPONENTS:
        brightness = torch.floor(brightness * _OPPONENTS / pixels.shape[1])
    contrast = draw_contrast(brightness)
    contours = draw_edges(contrast)
    maps = [contours, _halve(brightness), draw_bars(brightness), draw_bars(contrast), draw_bends(contours)]
    if pixels.shape[1] == _OPPONENTS:
        red, green, blue = pixels.unbind(dim=1)
        opponents = torch.stack([red + green + blue - 384, red - green, red + green - 2 * blue], dim=1)
        maps += [_draw_unsigned(opponents[:, 1:2]), _draw_unsigned(opponents[:, 2:3])]
        maps += [torch.relu(opponents), torch.relu(-opponents)]
    return torch.cat(maps, dim=1)


def draw_contrast(brightness: Tensor) -> Tensor:
    """How much brighter a pixel is than its surroundings, in 256ths of how much they vary."""
    wide, around = brightness.double(), _WINDOW // 2
    ones = torch.ones_like(wide[:1])
    count, total, squares = (
        sum_windows(one, (_WINDOW, _WINDOW), (1, 1), (around, around)) for one in (ones, wide, wide * wide)
    )
    deviation = whole_root(count * squares - total * total)
    return torch.floor(_CONTRAST * (count * wide - total) / (deviation + _OPPONENTS * _FAINT * count)).float()


def draw_edges(grey: Tensor) -> Tensor:
    return _inhibit(_responses(grey), 5)


def _draw_unsigned(grey: Tensor) -> Tensor:
    responses = _responses(grey)
    both = responses[:, : _DIRECTIONS // 2] + responses[:, _DIRECTIONS // 2 :]
    return _inhibit(both, 5)


def _responses(grey: Tensor) -> Tensor:
    left, right, above, below = (_move(grey, down, across) for down, across in ((0, -1), (0, 1), (-1, 0), (1, 0)))
    turns = [2 * math.pi * k / _DIRECTIONS for k in range(_DIRECTIONS)]
    cosines = grey.new_tensor([round(16 * math.cos(turn)) for turn in turns]).view(1, -1, 1, 1)
    sines = grey.new_tensor([round(16 * math.sin(turn)) for turn in turns]).view(1, -1, 1, 1)
    return torch.relu(cosines * (right - left) + sines * (below - above))


def draw_bars(grey: Tensor) -> Tensor:
    lines = ((0, 1), (1, 0), (1, 1), (1, -1))
    ridges = torch.cat([2 * grey - _move(grey, y, x) - _move(grey, -y, -x) for y, x in lines], dim=1)
    return _inhibit(16 * torch.cat([torch.relu(ridges), torch.relu(-ridges)], dim=1), 2)


def draw_bends(edges: Tensor) -> Tensor:
    ahead = [_ahead(k) for k in range(_DIRECTIONS)]
    before = torch.stack([_move(edges, y, x) for y, x in ahead], dim=1)  # (n, displacement, direction, height, width)
    behind = torch.stack([_move(edges, -y, -x) for y, x in ahead], dim=1)
    each = torch.arange(_DIRECTIONS, device=edges.device)
    maps = []
    for turn in _TURNS:
        to, fro = before[:, each, (each + turn) % _DIRECTIONS], behind[:, each, (each - turn) % _DIRECTIONS]
        maps.append(torch.minimum(edges, to) + torch.minimum(edges, fro))
    return torch.cat(maps, dim=1)


def _ahead(direction: int) -> tuple[int, int]:
    """Two pixels along an edge whose gradient has this direction: rows, columns."""
    turn = 2 * math.pi * direction / _DIRECTIONS + math.pi / 2
    return round(_AHEAD * math.sin(turn)), round(_AHEAD * math.cos(turn))


def _inhibit(responses: Tensor, inhibition: int) -> Tensor:
    return torch.floor(torch.relu(16 * responses - inhibition * responses.sum(dim=1, keepdim=True)) / 64)


def _halve(brightness: Tensor) -> Tensor:
    """Edges of the image at half the size, every pixel four times."""
    height, width = brightness.shape[2:]
    even = functional.pad(brightness, (0, width % 2, 0, height % 2), mode="replicate")
    edges = draw_edges(sum_windows(even, (2, 2), (2, 2)))
    return edges.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)[:, :, :height, :width]


def _move(maps: Tensor, down: int, right: int) -> Tensor:
    """What lies so far down and right of each pixel; beyond the border, what lies at the border."""
    height, width = maps.shape[2:]
    framed = functional.pad(maps, (_AHEAD,) * 4, mode="replicate")
    return framed[:, :, _AHEAD + down : _AHEAD + down + height, _AHEAD + right : _AHEAD + right + width]
