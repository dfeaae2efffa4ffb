"""The fixed stem: whole numbers that every machine computes alike, against an obvious slow version."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
import torch

from netpact.core.errors import PactError
from netpact.layers import OrientedEdges, count_features, orient
from netpact.models import Architecture, build, parse_model
from netpact.network import ToleranceRun


def slow_orient(
    image: list[list[list[int]]],
    *,
    orientations: int,
    inhibition: int,
    cell: int,
    stride: int,
    straighten: bool,
    mirror: bool,
) -> list[list[list[int]]]:
    """One image of whole numbers, in Python's integers, by the docstring's list."""
    if straighten:
        image = slow_straighten(image)
    sums = slow_sums(image, orientations=orientations, inhibition=inhibition, cell=cell, stride=stride)
    if mirror:
        other = [[row[::-1] for row in plane] for plane in image]
        others = slow_sums(other, orientations=orientations, inhibition=inhibition, cell=cell, stride=stride)
        half = (len(sums[0][0]) + 1) // 2
        sums = [
            [[a + b for a, b in zip(*pair, strict=True)][:half] for pair in zip(*planes, strict=True)]
            for planes in zip(sums, others, strict=True)
        ]
    return [[[math.isqrt(v) for v in row] for row in plane] for plane in sums]


def slow_straighten(image: list[list[list[int]]]) -> list[list[list[int]]]:
    channels, height, width = len(image), len(image[0]), len(image[0][0])
    grey = [[sum(image[c][i][j] for c in range(channels)) // channels for j in range(width)] for i in range(height)]
    mass = sum(map(sum, grey))
    rows = sum(i * sum(row) for i, row in enumerate(grey))
    columns = sum(j * v for row in grey for j, v in enumerate(row))
    mixed = sum(i * j * v for i, row in enumerate(grey) for j, v in enumerate(row))
    squares = sum(i * i * sum(row) for i, row in enumerate(grey))
    variance = mass * squares - rows * rows
    slope = 256 * (mass * mixed - rows * columns) // variance if variance else 0
    unit = 512 * max(1, mass)

    def read(source: list[list[int]], i: int, j: int) -> int:
        j += (2 * slope * (mass * i - rows) + unit // 2) // unit
        return source[i][j] if 0 <= j < width else 0

    return [[[read(plane, i, j) for j in range(width)] for i in range(height)] for plane in image]


def slow_sums(
    image: list[list[list[int]]], *, orientations: int, inhibition: int, cell: int, stride: int
) -> list[list[list[int]]]:
    channels, height, width = len(image), len(image[0]), len(image[0][0])
    grey = [[sum(image[c][i][j] for c in range(channels)) // channels for j in range(width)] for i in range(height)]

    def pixel(i: int, j: int) -> int:
        return grey[i][j] if 0 <= i < height and 0 <= j < width else 0

    slope_taps, smooth_taps = (-2, -3, 0, 3, 2), (1, 3, 4, 3, 1)
    maps = [[[0] * width for _ in range(height)] for _ in range(orientations)]
    for i in range(height):
        for j in range(width):
            taps = [(a, b, pixel(i + a - 2, j + b - 2)) for a in range(5) for b in range(5)]
            across = sum(smooth_taps[a] * slope_taps[b] * v for a, b, v in taps)
            along = sum(slope_taps[a] * smooth_taps[b] * v for a, b, v in taps)
            turns = [2 * math.pi * k / orientations for k in range(orientations)]
            edges = [max(0, round(16 * math.cos(t)) * across + round(16 * math.sin(t)) * along) for t in turns]
            for k, edge in enumerate(edges):
                maps[k][i][j] = max(0, 16 * edge - inhibition * sum(edges)) // 64
    if channels == 3:
        opponents = [
            [[f(*(image[c][i][j] for c in range(3))) for j in range(width)] for i in range(height)]
            for f in (lambda r, g, b: r + g + b - 384, lambda r, g, b: r - g, lambda r, g, b: r + g - 2 * b)
        ]
        maps += [[[16 * max(0, v) for v in row] for row in plane] for plane in opponents]
        maps += [[[16 * max(0, -v) for v in row] for row in plane] for plane in opponents]
    padding = (cell - stride) // 2

    def pooled(plane: list[list[int]], i: int, j: int) -> int:
        places = [(i * stride + a - padding, j * stride + b - padding) for a in range(cell) for b in range(cell)]
        return sum(plane[a][b] for a, b in places if 0 <= a < height and 0 <= b < width)

    down, right = (height + 2 * padding - cell) // stride + 1, (width + 2 * padding - cell) // stride + 1
    return [[[pooled(plane, i, j) for j in range(right)] for i in range(down)] for plane in maps]


OPTIONS = [
    {"orientations": 8, "inhibition": 5, "cell": 4, "stride": 2, "straighten": False, "mirror": False},
    {"orientations": 8, "inhibition": 5, "cell": 4, "stride": 2, "straighten": True, "mirror": False},
    {"orientations": 5, "inhibition": 2, "cell": 3, "stride": 3, "straighten": True, "mirror": True},
    {"orientations": 12, "inhibition": 3, "cell": 6, "stride": 2, "straighten": False, "mirror": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_features_are_those_of_whole_number_arithmetic(options: dict[str, int], channels: int) -> None:
    random = np.random.default_rng(channels)
    images = random.integers(0, 256, (4, channels, 9, 11))
    images[1] = 0
    images[2] = np.where(random.random((channels, 9, 11)) < 0.2, 255, 0)
    images[3] = 255
    fast = orient(torch.from_numpy(images / 255).float(), **options)  # type: ignore[arg-type]
    slow = [slow_orient(image, **options) for image in images.tolist()]  # type: ignore[arg-type]
    assert torch.equal(fast, torch.tensor(slow, dtype=torch.float32))
    maps = count_features(
        channels=channels,
        height=9,
        width=11,
        orientations=options["orientations"],
        cell=options["cell"],
        stride=options["stride"],
        mirror=bool(options["mirror"]),
    )
    assert tuple(fast.shape) == (4, *maps)


def test_the_largest_image_stays_below_two_to_the_24() -> None:
    """Stripes and checks of full contrast at the largest size, cell and inhibition: still whole-number arithmetic."""
    image = np.zeros((3, 1, 64, 64), dtype=np.int64)
    image[0, :, :, ::6] = image[0, :, :, 1::6] = image[0, :, :, 2::6] = 255
    image[1, :, 32:] = 255
    image[2] = 255 * (np.add.outer(np.arange(64) // 3, np.arange(64) // 3) % 2)
    options = {"orientations": 8, "inhibition": 1, "cell": 12, "stride": 12, "straighten": False, "mirror": True}
    fast = orient(torch.from_numpy(image / 255).float(), **options)  # type: ignore[arg-type]
    assert fast.tolist() == [slow_orient(one, **options) for one in image.tolist()]  # type: ignore[arg-type]


def test_golden_features() -> None:
    """The stem is part of the decoder: what it computes for an id never changes."""
    pixels = (np.arange(2 * 28 * 28).reshape(2, 1, 28, 28) ** 2 // 7) % 256
    features = build(parse_model("oriented:8-5-8-4-2", input_shape=(1, 28, 28), classes=10))[0](
        torch.from_numpy(pixels / 255).float()
    )
    digest = hashlib.sha256(features.numpy().astype("<i4").tobytes()).hexdigest()
    assert digest == "8e80ac4e6573bc3f264738c17601f4839e420b05361daf18d2f2a7bfb664b31f"


def test_the_same_in_every_batch_and_precision() -> None:
    x = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (9, 1, 16, 16)) / 255).float()
    stem = OrientedEdges(orientations=8, inhibition=5, cell=4, stride=4, straighten=True, mirror=False)
    whole = stem(x)
    assert torch.equal(whole, torch.cat([stem(one[None]) for one in x]))
    assert torch.equal(whole.double(), stem(x.double()))
    assert whole.dtype == torch.float32


def test_a_network_on_it_has_no_rounding_before_its_head() -> None:
    module = build(parse_model("oriented:8-5-4-2-2", input_shape=(1, 12, 12), classes=3))
    with torch.no_grad():
        module.get_parameter("fc1.weight").copy_(torch.randint(-1, 2, module.get_parameter("fc1.weight").shape))
    x = (np.random.default_rng(0).integers(0, 256, (5, 1, 12, 12)) / 255).astype(np.float32)
    logits = ToleranceRun(module, "float32")(x)
    assert torch.equal(logits.values, module(torch.from_numpy(x)).double())
    assert not logits.spread.any(), "whole numbers below 2^24: no run can differ"
    with torch.no_grad():
        module.get_parameter("fc1.weight").mul_(2.0**14)
    assert bool((ToleranceRun(module, "float32")(x).spread > 0).all()), "too large to be exact in float32"
    assert not ToleranceRun(module, "float64")(x).spread.any()


def test_it_must_come_first() -> None:
    stem = OrientedEdges(orientations=8, inhibition=5, cell=4, stride=4, straighten=False, mirror=False)
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 1, 3), stem, torch.nn.Flatten())
    with pytest.raises(PactError, match="orient of anything but the input"):
        ToleranceRun(module, "float32")(np.ones((2, 1, 10, 10), dtype=np.float32))


@pytest.mark.parametrize(
    ("sizes", "part"),
    [
        ((1, 5, 8, 4, 1), "orientations"),
        ((33, 1, 8, 4, 1), "orientations"),
        ((8, 17, 8, 4, 1), "inhibition"),
        ((8, 5, 13, 4, 1), "cell"),
        ((8, 5, 8, 9, 1), "stride"),
        ((8, 5, 8, 4, 5), "view"),
    ],
)
def test_sizes_beyond_the_limits_are_refused(sizes: tuple[int, ...], part: str) -> None:
    with pytest.raises(PactError, match=part):
        Architecture(5, sizes, (1, 28, 28), 10)


def test_images_beyond_the_limits_are_refused() -> None:
    with pytest.raises(PactError, match="height and width"):
        Architecture(5, (8, 5, 8, 4, 1), (1, 65, 20), 10)
    with pytest.raises(PactError, match="images of shape"):
        Architecture(5, (8, 5, 8, 4, 1), (64,), 10)
