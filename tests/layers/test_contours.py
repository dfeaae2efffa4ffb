"""The stem of contours: integers that every machine computes alike, against an obvious slow version."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
import torch

from netpact.core.errors import PactError
from netpact.layers import Contours, contour, count_contours
from netpact.layers.contours import MAX_CELLS, MAX_SIDE, MAX_STEP, count_cells
from netpact.layers.oriented import straighten_rows
from netpact.models import build, parse_model
from netpact.network import ToleranceRun

Plane = list[list[int]]

# By kind of map, as the docstring lists them: what sums over cells are multiplied by.
EDGES, HALF, BARS, CONTRAST_BARS, BENDS, RED_GREEN, BLUE_YELLOW, COLOURS = (
    [8] * 8,
    [4] * 8,
    [4, 4, 2, 2] * 2,
    [2, 2, 1, 1] * 2,
    [16] * 8 + [32] * 16 + [64] * 16,
    [128] * 4,
    [32] * 4,
    [4, 32, 8] * 2,
)


def at(plane: Plane, i: int, j: int) -> int:
    """Beyond its border an image goes on as it ends."""
    return plane[min(max(i, 0), len(plane) - 1)][min(max(j, 0), len(plane[0]) - 1)]


def inhibited(values: list[int], inhibition: int) -> list[int]:
    return [max(0, 16 * value - inhibition * sum(values)) // 64 for value in values]


def planes(height: int, width: int, values: list[list[list[int]]]) -> list[Plane]:
    """From a list for each pixel to an image for each entry."""
    return [[[values[i][j][k] for j in range(width)] for i in range(height)] for k in range(len(values[0][0]))]


def slow_edges(plane: Plane, *, signed: bool = True) -> list[Plane]:
    height, width = len(plane), len(plane[0])

    def here(i: int, j: int) -> list[int]:
        across, down = at(plane, i, j + 1) - at(plane, i, j - 1), at(plane, i + 1, j) - at(plane, i - 1, j)
        turns = [2 * math.pi * k / 8 for k in range(8)]
        found = [max(0, round(16 * math.cos(t)) * across + round(16 * math.sin(t)) * down) for t in turns]
        return inhibited(found if signed else [a + b for a, b in zip(found[:4], found[4:], strict=True)], 5)

    return planes(height, width, [[here(i, j) for j in range(width)] for i in range(height)])


def slow_bars(plane: Plane) -> list[Plane]:
    height, width = len(plane), len(plane[0])

    def here(i: int, j: int) -> list[int]:
        lines = ((0, 1), (1, 0), (1, 1), (1, -1))
        ridges = [2 * plane[i][j] - at(plane, i + y, j + x) - at(plane, i - y, j - x) for y, x in lines]
        return inhibited([16 * max(0, r) for r in ridges] + [16 * max(0, -r) for r in ridges], 2)

    return planes(height, width, [[here(i, j) for j in range(width)] for i in range(height)])


def slow_contrast(plane: Plane) -> Plane:
    height, width = len(plane), len(plane[0])

    def here(i: int, j: int) -> int:
        window = [
            plane[a][b]
            for a in range(max(0, i - 4), min(height, i + 5))
            for b in range(max(0, j - 4), min(width, j + 5))
        ]
        count, total = len(window), sum(window)
        deviation = math.isqrt(count * sum(v * v for v in window) - total * total)
        return 256 * (count * plane[i][j] - total) // (deviation + 30 * count)

    return [[here(i, j) for j in range(width)] for i in range(height)]


def slow_bends(edges: list[Plane]) -> list[Plane]:
    height, width = len(edges[0]), len(edges[0][0])
    found = []
    for turn in (0, 1, -1, 2, -2):
        for k in range(8):
            y, x = (round(2 * f(2 * math.pi * k / 8 + math.pi / 2)) for f in (math.sin, math.cos))
            to, fro = edges[(k + turn) % 8], edges[(k - turn) % 8]
            found.append(
                [
                    [
                        min(edges[k][i][j], at(to, i + y, j + x)) + min(edges[k][i][j], at(fro, i - y, j - x))
                        for j in range(width)
                    ]
                    for i in range(height)
                ]
            )
    return found


def slow_half(plane: Plane) -> list[Plane]:
    height, width = len(plane), len(plane[0])
    small = [
        [sum(at(plane, 2 * i + a, 2 * j + b) for a in (0, 1) for b in (0, 1)) for j in range((width + 1) // 2)]
        for i in range((height + 1) // 2)
    ]
    return [[[edge[i // 2][j // 2] for j in range(width)] for i in range(height)] for edge in slow_edges(small)]


def slow_maps(image: list[Plane]) -> tuple[list[Plane], list[int]]:
    channels, height, width = len(image), len(image[0]), len(image[0][0])
    bright = [[3 * sum(plane[i][j] for plane in image) // channels for j in range(width)] for i in range(height)]
    contrast = slow_contrast(bright)
    edges = slow_edges(contrast)
    maps = [*edges, *slow_half(bright), *slow_bars(bright), *slow_bars(contrast), *slow_bends(edges)]
    loudness = [*EDGES, *HALF, *BARS, *CONTRAST_BARS, *BENDS]
    if channels == 3:
        places = [[tuple(plane[i][j] for plane in image) for j in range(width)] for i in range(height)]
        opponents = [
            [[f(*pixel) for pixel in row] for row in places]
            for f in (lambda r, g, b: r + g + b - 384, lambda r, g, b: r - g, lambda r, g, b: r + g - 2 * b)
        ]
        maps += [*slow_edges(opponents[1], signed=False), *slow_edges(opponents[2], signed=False)]
        maps += [[[max(0, sign * v) for v in row] for row in one] for sign in (1, -1) for one in opponents]
        loudness += [*RED_GREEN, *BLUE_YELLOW, *COLOURS]
    return maps, loudness


def slow_contour(image: list[Plane], *, cells: int, rows: int, columns: int, mirror: bool) -> list[Plane]:
    """One image of integers, in Python's integers, by the docstrings' lists. A mirror image is really mirrored."""

    def pooled(image: list[Plane]) -> list[Plane]:
        height, width = len(image[0]), len(image[0][0])
        step = min(height, width) // cells
        down, across = ((side + 2 * (step // 2) - 2 * step) // step + 1 for side in (height, width))
        maps, loudness = slow_maps(image)

        def total(plane: Plane, i: int, j: int) -> int:
            places = [(i * step - step // 2 + a, j * step - step // 2 + b) for a, b in np.ndindex(2 * step, 2 * step)]
            return sum(plane[a][b] for a, b in places if 0 <= a < height and 0 <= b < width)

        return [
            [[loud * total(plane, i, j) for j in range(across)] for i in range(down)]
            for plane, loud in zip(maps, loudness, strict=True)
        ]

    sums = pooled(image)
    mirrored = mirror_numbers(len(image))
    if mirror:
        sums = [
            [
                [a + b for a, b in zip(*pair, strict=True)]
                for pair in zip(one, [row[::-1] for row in other], strict=True)
            ]
            for one, other in zip(sums, [sums[number] for number in mirrored], strict=True)
        ]
    roots = [[[math.isqrt(v) for v in row] for row in plane] for plane in sums]
    mean = max(1, sum(sum(map(sum, plane)) for plane in roots))

    def wave(frequency: int, place: int, count: int) -> int:
        return round(64 * math.cos(math.pi * frequency * (2 * place + 1) / (2 * count))) if frequency else 45

    found: list[Plane] = []
    for number, plane in enumerate(roots):
        odd = mirror and mirrored[number] < number
        values = [[0] * columns for _ in range(rows)]
        for u, v in np.ndindex(rows, columns):
            across = 2 * v + odd if mirror else v
            amplitude = sum(
                wave(u, i, len(plane)) * wave(across, j, len(plane[0])) * plane[i][j]
                for i in range(len(plane))
                for j in range(len(plane[0]))
            )
            flat = u == 0 and across == 0
            unit = 32 if (u, v) == (0, 0) and number >= 80 else 16
            value = (len(roots) * amplitude - (45 * 45 * mean if flat else 0)) // (unit * mean)
            values[u][v] = min(max(value, -4095), 4095)
        found.append(values)
    return [*found, [[32] * columns for _ in range(rows)]]


def mirror_numbers(channels: int) -> list[int]:
    """By hand: direction k becomes 4 - k, the two diagonal bars change places, colours stay."""
    eight = [4, 3, 2, 1, 0, 7, 6, 5]
    bars = [0, 1, 3, 2, 4, 5, 7, 6]
    groups = [eight, eight, bars, bars, *[eight] * 5]
    if channels == 3:
        groups += [[0, 3, 2, 1], [0, 3, 2, 1], list(range(6))]
    found: list[int] = []
    for group in groups:
        found += [len(found) + one for one in group]
    return found


OPTIONS = [
    {"cells": 4, "rows": 3, "columns": 2, "mirror": False},
    {"cells": 4, "rows": 4, "columns": 2, "mirror": True},
    {"cells": 9, "rows": 2, "columns": 3, "mirror": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_features_are_those_of_integer_arithmetic(options: dict[str, int], channels: int) -> None:
    random = np.random.default_rng(channels)
    images = random.integers(0, 256, (5, channels, 9, 12))
    images[1] = 0
    images[2] = np.where(random.random((channels, 9, 12)) < 0.2, 255, 0)
    images[3] = 255
    images[4] = np.add.outer(np.arange(9), np.arange(12)) * 12  # an edge everywhere, none that bends
    fast = contour(torch.from_numpy(images / 255).float(), straighten=False, **options)  # type: ignore[arg-type]
    slow = [slow_contour(image, **options) for image in images.tolist()]  # type: ignore[arg-type]
    assert torch.equal(fast, torch.tensor(slow, dtype=torch.float32))
    shape = count_contours(channels=channels, rows=options["rows"], columns=options["columns"])
    assert tuple(fast.shape) == (5, *shape)


def test_an_image_and_its_mirror_image_have_the_same_features() -> None:
    x = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (6, 3, 32, 32)) / 255).float()
    stem = Contours(cells=8, rows=5, columns=3, straighten=False, mirror=True)
    assert torch.equal(stem(x), stem(x.flip(3)))
    other = Contours(cells=8, rows=5, columns=3, straighten=False, mirror=False)
    assert not torch.equal(other(x), other(x.flip(3)))


def test_every_map_holds_something_of_its_own() -> None:
    """No feature is the same as another one, or its negative, for all images; only the constant does not vary."""
    x = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (400, 3, 16, 16)) / 255).float()
    for mirror in (False, True):
        features = Contours(cells=4, rows=2, columns=2, straighten=False, mirror=mirror)(x)[:, :-1].flatten(1)
        correlation = torch.corrcoef(features.T.double()).fill_diagonal_(0)
        assert bool(torch.isfinite(correlation).all()), "every feature varies"
        assert float(correlation.abs().max()) < 0.99


def test_straightening_comes_first() -> None:
    x = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (3, 1, 16, 16)) / 255).float()
    x[:, :, :, 8:] = 0  # mass that leans
    x[:, :, 8:, :4] = 0
    options = {"cells": 8, "rows": 3, "columns": 3, "mirror": False}
    upright = straighten_rows(torch.round(x * 255)) / 255
    assert not torch.equal(upright, x)
    assert torch.equal(
        contour(x, straighten=True, **options),  # type: ignore[arg-type]
        contour(upright, straighten=False, **options),  # type: ignore[arg-type]
    )


def test_golden_features() -> None:
    """The stem is part of the decoder: what it computes for an id never changes."""
    pixels = (np.arange(2 * 3 * 32 * 32).reshape(2, 3, 32, 32) ** 2 // 7) % 256
    features = build(parse_model("contours:8-4-2-3", input_shape=(3, 32, 32), classes=10))[0](
        torch.from_numpy(pixels / 255).float()
    )
    digest = hashlib.sha256(features.numpy().astype("<i4").tobytes()).hexdigest()
    assert digest == "8fc94afa175139e0856fa92abb827dd350166d5b59f97c05e05827ba408340e4"


def test_the_same_in_every_batch_and_precision() -> None:
    x = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (70, 1, 16, 16)) / 255).float()
    stem = Contours(cells=8, rows=3, columns=3, straighten=True, mirror=False)
    whole = stem(x)
    assert torch.equal(whole, torch.cat([stem(one[None]) for one in x]))
    assert torch.equal(whole.double(), stem(x.double()))
    assert whole.dtype == torch.float32


def test_a_network_on_it_has_no_rounding_before_its_head() -> None:
    module = build(parse_model("contours:4-2-2-2", input_shape=(1, 12, 12), classes=3))
    with torch.no_grad():
        module.get_parameter("fc1.weight").copy_(torch.randint(-1, 2, module.get_parameter("fc1.weight").shape))
    x = (np.random.default_rng(0).integers(0, 256, (5, 1, 12, 12)) / 255).astype(np.float32)
    logits = ToleranceRun(module, "float32")(x)
    assert torch.equal(logits.values, module(torch.from_numpy(x)).double())
    assert not logits.spread.any(), "integers below 2^24: no run can differ"


def test_every_sum_stays_within_the_exact_range() -> None:
    """The largest that maps and sums over cells can be, from the largest pixels and the widest cells allowed."""
    bright, contrast = 3 * 255, 256 * 9  # |b - mean| is at most the root of 81 - 1 deviations
    largest_turn = max(
        abs(round(16 * math.cos(2 * math.pi * k / 8))) + abs(round(16 * math.sin(2 * math.pi * k / 8)))
        for k in range(8)
    )
    edges = [2 * largest_turn * one for one in (contrast, 2 * 255)]  # of contrast, of two opponents
    half = largest_turn * 4 * bright
    bars = [16 * 4 * one for one in (bright, contrast)]
    for response in (*edges, half, *bars):
        assert 16 * response < 2**24
        assert 8 * 5 * response < 2**24
    window = (2 * MAX_STEP) ** 2
    for one in (2 * 16 * edges[0] // 64, 16 * half // 64, *(16 * bar // 64 for bar in bars)):
        assert window * one < 2**24, "sums over a cell, of two edges where contours bend"
    cells = (MAX_SIDE // (MAX_SIDE // MAX_CELLS) + 1) ** 2
    roots = math.isqrt(2 * 128 * 2**24)
    assert 87 * 64 * 64 * cells * roots < 2**53
    assert 81 * 81 * bright**2 < 2**53
    assert 4095 * 87 * 8 * 4 < 2**24, "a head of signs on 8 x 4 waves adds up exactly; of more waves it is checked"


def test_no_cosine_lies_where_libraries_could_round_it_differently() -> None:
    """Libraries differ in the last bit of a cosine: none may be that close to a half."""
    for count in range(1, MAX_SIDE + 1):
        turns = math.pi * np.outer(np.arange(1, count), 2 * np.arange(count) + 1) / (2 * count)
        waves = 64 * np.cos(turns)
        assert np.abs(waves - np.floor(waves) - 0.5).min(initial=1.0) > 1e-6


def test_constant_and_hostile_images_stay_in_range() -> None:
    x = torch.zeros(4, 3, 64, 64)
    x[1] = 1
    x[2, 0, ::2] = 1
    x[3, :, 32, 32] = 1
    for mirror in (False, True):
        found = contour(x, cells=8, rows=8, columns=4, straighten=False, mirror=mirror)
        assert float(found.abs().max()) <= 4095
        assert torch.equal(found, torch.round(found))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("8-4-2-5", r"view .* must lie in 1..4, got 5"),
        ("3-4-2-1", r"cells must lie in 4..16, got 3"),
        ("17-4-2-1", r"cells must lie in 4..16, got 17"),
        ("8-9-2-1", r"rows must lie in 1..8, got 9"),
        ("8-4-5-3", r"columns must lie in 1..4, got 5"),
    ],
)
def test_bad_sizes_are_refused(sizes: str, message: str) -> None:
    with pytest.raises(PactError, match=message):
        parse_model(f"contours:{sizes}", input_shape=(3, 32, 32), classes=10)


@pytest.mark.parametrize("shape", [(1, 4, 4), (3, 5, 64), (1, 64, 7), (2, 37, 64), (3, 64, 64)])
def test_every_allowed_size_can_be_built(shape: tuple[int, int, int]) -> None:
    """The numbers of cells that the plan counts are those that the stem makes."""
    _, height, width = shape
    x = torch.rand(2, *shape)
    for cells in range(2, MAX_CELLS + 1):
        if cells > min(height, width) or min(height, width) // cells > MAX_STEP:
            with pytest.raises(PactError, match="cells must lie in"):
                parse_model(f"contours:{cells}-1-1-1", input_shape=shape, classes=2)
            continue
        down, across = count_cells(height=height, width=width, cells=cells)
        module = build(parse_model(f"contours:{cells}-{down}-{across}-1", input_shape=shape, classes=2))
        assert module(x).shape == (2, 2)
        assert tuple(module[0](x).shape[2:]) == (down, across)


def test_it_must_come_first() -> None:
    stem = Contours(cells=4, rows=2, columns=2, straighten=False, mirror=False)
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 1, 3), stem, torch.nn.Flatten())
    with pytest.raises(PactError, match="contour of anything but the input"):
        ToleranceRun(module, "float32")(np.full((2, 1, 12, 12), 0.5, dtype=np.float32))
