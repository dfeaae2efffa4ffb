"""Images of digits as a pen writes them, made from fonts: no handwriting was looked at, MNIST's least of all.

A glyph is thinned to the path of a pen. The path is slanted, turned, stretched and bent at random, and drawn again by a
pen of random width, which is lifted here and there; some glyphs keep the strokes of their font. The result is placed as
MNIST's publication describes: a box of 20 pixels, its centre of mass in the middle of 28 x 28 pixels.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import distance_transform_edt
from torch import Tensor
from torch.nn.functional import affine_grid, avg_pool2d, grid_sample, interpolate

from netpact.datasets import ArraySamples

SIDE, BOX, POINTS = 64, 44, 160  # pixels of a glyph's image, of the glyph in it, and of the font
AT_ONCE = 1000
SLANT, TURN, STRETCH = 0.45, 9.5, 0.3  # shear; standard deviation in degrees; logarithm of width by height
BEND, BENDS = (0.03, 0.2), (3, 5)  # of half the image, and how many places on a side are moved
PEN, PRESSURE, OWN_STROKES = (1.4, 4.8), 0.15, 0.2  # half widths in pixels, how they vary, how many keep their font's
GAPS, GAP = 0.3, (1.5, 5.0)  # probability of each of two gaps, and their radius


def read_glyphs(folder: str | Path) -> tuple[Tensor, Tensor]:
    """For each font in the folder and each digit: distance to the pen's path, and signed distance to the strokes."""
    files = sorted(Path(folder).rglob("*-latin-[347]00-normal.woff"), key=lambda path: path.name)
    ink = np.concatenate([_draw_digits(ImageFont.truetype(str(path), POINTS)) for path in files]) > 127
    path = np.stack([distance_transform_edt(~bones) for bones in _thin(ink)])
    strokes = np.stack([distance_transform_edt(~one) - distance_transform_edt(one) for one in ink])
    return torch.from_numpy(path).float(), torch.from_numpy(strokes).float()


def make_digits(glyphs: tuple[Tensor, Tensor], count: int, *, seed: int, name: str) -> ArraySamples:
    random = torch.Generator().manual_seed(seed)
    made, fonts = [], len(glyphs[0]) // 10
    for start in range(0, count, AT_ONCE):
        digits = torch.randint(10, (min(AT_ONCE, count - start),), generator=random)
        picked = torch.randint(fonts, (len(digits),), generator=random) * 10 + digits
        images = place(_write(glyphs[0][picked], glyphs[1][picked], random))
        made.append((images.numpy(), digits.numpy()))
    return ArraySamples(np.concatenate([x for x, _ in made]), np.concatenate([y for _, y in made]), name, 10)


def _draw_digits(font: ImageFont.FreeTypeFont) -> np.ndarray:
    drawn = np.zeros((10, SIDE, SIDE), np.uint8)
    for digit in range(10):
        canvas = Image.new("L", (3 * POINTS, 3 * POINTS))
        ImageDraw.Draw(canvas).text((POINTS, POINTS // 2), str(digit), fill=255, font=font)
        glyph = canvas.crop(canvas.getbbox())
        scale = BOX / max(glyph.size)
        width, height = (max(1, round(side * scale)) for side in glyph.size)
        left, top = (SIDE - width) // 2, (SIDE - height) // 2
        drawn[digit, top : top + height, left : left + width] = glyph.resize((width, height), Image.Resampling.BOX)
    return drawn


def _thin(ink: np.ndarray) -> np.ndarray:
    """Zhang and Suen 1984, all images at once."""
    left, before = ink.copy(), -1
    while before != (before := int(left.sum())):
        for first in (True, False):
            wide = np.pad(left, ((0, 0), (1, 1), (1, 1)))
            rows, columns = (0, 0, 1, 2, 2, 2, 1, 0), (1, 2, 2, 2, 1, 0, 0, 0)  # around the pixel, from above it
            near = [wide[:, r : r + SIDE, c : c + SIDE] for r, c in zip(rows, columns, strict=True)]
            count = sum(one.astype(np.int8) for one in near)
            ends = sum((~near[k] & near[(k + 1) % 8]).astype(np.int8) for k in range(8))
            above, right, below, beside = near[::2]
            if first:
                border = ~(above & right & below) & ~(right & below & beside)
            else:
                border = ~(above & right & beside) & ~(above & below & beside)
            left &= ~((count >= 2) & (count <= 6) & (ends == 1) & border)
    return left


def _write(path: Tensor, strokes: Tensor, random: torch.Generator) -> Tensor:
    count = len(path)

    def between(low: float, high: float) -> Tensor:
        return (low + (high - low) * torch.rand(count, generator=random)).view(count, 1, 1)

    both = grid_sample(
        torch.stack([path, strokes], 1), _bend(count, between, random), padding_mode="border", align_corners=True
    )
    pen = between(*PEN) * (1 + PRESSURE * _noise(count, 1, 3, random)[:, 0]).clamp(0.6, 1.5)
    kept = between(0, 1) < OWN_STROKES
    ink = torch.sigmoid(-2.5 * torch.where(kept, both[:, 1] - between(-1.5, 1.5), both[:, 0] - pen))
    rows, columns = torch.arange(SIDE).view(1, SIDE, 1), torch.arange(SIDE).view(1, 1, SIDE)
    for _ in range(2):
        inside = (rows - between(10, 54)) ** 2 + (columns - between(10, 54)) ** 2 < between(*GAP) ** 2
        ink = ink.masked_fill(inside & (between(0, 1) < GAPS), 0.0)
    return ink


def _bend(count: int, between: Callable[[float, float], Tensor], random: torch.Generator) -> Tensor:
    """Where each pixel of the result comes from: an affine map, and smooth noise."""
    turn = torch.deg2rad(TURN * torch.randn(count, generator=random).clamp(-2.5, 2.5))
    shear, width = between(-SLANT, SLANT).flatten(), torch.exp(between(-STRETCH, STRETCH)).flatten()
    matrix = torch.zeros(count, 2, 3)
    matrix[:, 0, 0], matrix[:, 0, 1] = width * turn.cos(), width * (shear - turn.sin())
    matrix[:, 1, 0], matrix[:, 1, 1] = turn.sin() / width, turn.cos() / width
    grid = affine_grid(matrix, [count, 1, SIDE, SIDE], align_corners=True)
    for places in BENDS:
        strength = between(*BEND).view(count, 1, 1, 1) * BENDS[0] / places
        grid = grid + (strength * _noise(count, 2, places, random)).permute(0, 2, 3, 1)
    return grid


def _noise(count: int, maps: int, places: int, random: torch.Generator) -> Tensor:
    drawn = torch.randn(count, maps, places, places, generator=random)
    return interpolate(drawn, (SIDE, SIDE), mode="bicubic", align_corners=True)


def place(ink: Tensor) -> Tensor:
    """Bytes of 28 x 28 pixels: the longer side of what is inked becomes 20, the centre of mass the middle."""
    count, seen, pixels = len(ink), ink > 0.3, torch.arange(SIDE)
    sides, middles = [], []
    for axis in (2, 1):  # rows, then columns
        inked = seen.any(axis)
        sides.append(torch.where(inked, pixels, -1).amax(1) - torch.where(inked, pixels, SIDE).amin(1) + 1)
        middles.append((ink.sum(axis) * pixels).sum(1) / ink.sum((1, 2)).clamp(min=1e-3))
    reach = torch.maximum(*sides).clamp(min=5).view(count, 1) * 28 / 20
    steps = (torch.arange(56) + 0.5) / 56 - 0.5  # two in each direction for one pixel
    rows, columns = ((2 * (middle.view(count, 1) + steps * reach) / (SIDE - 1) - 1) for middle in middles)
    grid = torch.stack([columns.view(count, 1, 56).expand(-1, 56, -1), rows.view(count, 56, 1).expand(-1, -1, 56)], -1)
    small = avg_pool2d(grid_sample(ink[:, None], grid, align_corners=True), 2)[:, 0]
    return (small * 1.25 * 255).clamp(0, 255).round().to(torch.uint8)
