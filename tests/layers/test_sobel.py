"""The stem of Sobel edges: integers that every machine computes alike, against an obvious slow version."""

from __future__ import annotations

import hashlib
import math
from dataclasses import astuple

import numpy as np
import pytest
import torch
from layers.test_oriented import slow_straighten

from netpact.core.errors import PactError
from netpact.layers import SobelEdges, SobelOptions, count_sobel, sobel
from netpact.layers.moments import integer_root, resize_by_moments
from netpact.layers.sobel_edges import MAX_CELL, MAX_INHIBITION, MAX_ORIENTATIONS, MAX_SIDE
from netpact.models import build, parse_model
from netpact.network import ToleranceRun

Plane = list[list[int]]


def slow_mean(image: list[Plane]) -> Plane:
    return [[sum(values) // len(image) for values in zip(*rows, strict=True)] for rows in zip(*image, strict=True)]


def slow_resize(image: list[Plane]) -> list[Plane]:
    """By the docstring of netpact.layers.moments, in Python's integers."""
    grey = slow_mean(image)
    height, width = len(grey), len(grey[0])
    side = min(height, width)

    def extent(mass: list[int], least: int) -> tuple[int, int]:
        whole = max(1, sum(mass))
        first, second = (sum(place**power * one for place, one in enumerate(mass)) for power in (1, 2))
        return 256 * first // whole, max(least, math.isqrt(4096 * (whole * second - first * first) // whole**2))

    (middle_row, high), (middle_column, wide) = (
        extent([sum(row) for row in grey], 64),
        extent([sum(column) for column in zip(*grey, strict=True)], 32),
    )
    down = high * 224 // (13 * side)
    across = math.isqrt(high * wide * 224 * 224 // (130 * side * side))
    rows = [middle_row + (2 * i - height + 1) * down // 2 for i in range(height)]
    columns = [middle_column + (2 * j - width + 1) * across // 2 for j in range(width)]

    def at(plane: Plane, y: int, x: int) -> int:
        """The pixels around a position in 256ths, each by how near it is."""
        total = 0
        for i in (y // 256, y // 256 + 1):
            for j in (x // 256, x // 256 + 1):
                if 0 <= i < height and 0 <= j < width:
                    total += plane[i][j] * (256 - abs(y - 256 * i)) * (256 - abs(x - 256 * j))
        return total // 65536

    return [[[at(plane, y, x) for x in columns] for y in rows] for plane in image]


def slow_sums(grey: Plane, options: SobelOptions) -> list[Plane]:
    height, width = len(grey), len(grey[0])

    def pixel(i: int, j: int) -> int:
        return grey[min(max(i, 0), height - 1)][min(max(j, 0), width - 1)]

    turns = [2 * math.pi * k / options.orientations for k in range(options.orientations)]
    maps = [[[0] * width for _ in range(height)] for _ in turns]
    for i in range(height):
        for j in range(width):
            across = sum(w * (pixel(i + a, j + 1) - pixel(i + a, j - 1)) for a, w in ((-1, 1), (0, 2), (1, 1)))
            along = sum(w * (pixel(i + 1, j + b) - pixel(i - 1, j + b)) for b, w in ((-1, 1), (0, 2), (1, 1)))
            edges = [max(0, round(16 * math.cos(t)) * across + round(16 * math.sin(t)) * along) for t in turns]
            for k, edge in enumerate(edges):
                maps[k][i][j] = max(0, 16 * edge - options.inhibition * sum(edges)) // 64
    padding = (options.cell - options.stride) // 2
    down, right = ((side + 2 * padding - options.cell) // options.stride + 1 for side in (height, width))

    def pooled(plane: Plane, i: int, j: int) -> int:
        first, left = i * options.stride - padding, j * options.stride - padding
        inside = [
            (a, b)
            for a in range(max(0, first), min(height, first + options.cell))
            for b in range(max(0, left), min(width, left + options.cell))
        ]
        return sum(plane[a][b] for a, b in inside)

    return [[[pooled(plane, i, j) for j in range(right)] for i in range(down)] for plane in maps]


def slow_sobel(image: list[Plane], options: SobelOptions) -> list[Plane]:
    if options.straighten:
        image = slow_straighten(image)
    if options.resize:
        image = slow_resize(image)
    grey = slow_mean(image)
    sums = slow_sums(grey, options)
    if options.mirror:
        others = slow_sums([row[::-1] for row in grey], options)
        half = (len(sums[0][0]) + 1) // 2
        sums = [
            [[a + b for a, b in zip(*rows, strict=True)][:half] for rows in zip(*planes, strict=True)]
            for planes in zip(sums, others, strict=True)
        ]

    def root(v: int) -> int:
        return math.isqrt(16 * v) if options.roots == 1 else math.isqrt(math.isqrt(v << 24))

    return [[[root(v) for v in row] for row in plane] for plane in sums]


OPTIONS = [
    SobelOptions(8, 5, 4, 2, 1),
    SobelOptions(8, 5, 4, 3, 2),
    SobelOptions(5, 2, 3, 3, 2, straighten=True, mirror=True),
    SobelOptions(8, 5, 4, 2, 1, straighten=True, resize=True),
    SobelOptions(12, 3, 6, 2, 2, straighten=True, resize=True, mirror=True),
]


def drawn(channels: int, height: int, width: int) -> np.ndarray:
    random = np.random.default_rng(channels)
    images = random.integers(0, 256, (7, channels, height, width))
    images[1] = 0
    images[2] = np.where(random.random((channels, height, width)) < 0.2, 255, 0)
    images[3] = 255
    images[4] = np.where(np.arange(width) == 2, 200, 0)  # one column: as narrow as it gets
    images[5] = 0
    images[5, :, height - 1, width - 1] = 1  # one faint pixel in a corner
    images[6, :, : height // 2] = 0  # half the image is empty
    return images


@pytest.mark.parametrize("options", OPTIONS, ids=lambda one: "-".join(str(int(value)) for value in astuple(one)))
@pytest.mark.parametrize("shape", [(1, 9, 12), (2, 13, 8), (3, 9, 9)])
def test_features_are_those_of_integer_arithmetic(options: SobelOptions, shape: tuple[int, int, int]) -> None:
    images = drawn(*shape)
    fast = sobel(torch.from_numpy(images / 255).float(), options=options)
    slow = [slow_sobel(image, options) for image in images.tolist()]
    assert torch.equal(fast, torch.tensor(slow, dtype=torch.float32))
    assert tuple(fast.shape) == (7, *count_sobel(options, height=shape[1], width=shape[2]))


def test_the_largest_image_stays_in_range() -> None:
    """Full contrast at the largest size, cell and inhibition: still integer arithmetic."""
    image = np.zeros((3, 1, 64, 64), dtype=np.int64)
    image[0, :, :, ::4] = image[0, :, :, 1::4] = 255
    image[1, :, 32:] = 255
    image[2] = 255 * (np.add.outer(np.arange(64) // 3, np.arange(64) // 3) % 2)
    for options in (
        SobelOptions(8, 1, 12, 12, 1, mirror=True),
        SobelOptions(8, 16, 12, 12, 2, straighten=True, resize=True, mirror=True),
    ):
        fast = sobel(torch.from_numpy(image / 255).float(), options=options)
        assert fast.tolist() == [slow_sobel(one, options) for one in image.tolist()]


def test_every_sum_stays_within_the_exact_range() -> None:
    """The largest that maps and sums over cells can be, from the largest pixels and the widest cells allowed."""
    turns = [2 * math.pi * k / 360 for k in range(360)]
    response = 4 * 255 * max(abs(round(16 * math.cos(t))) + abs(round(16 * math.sin(t))) for t in turns)
    assert 16 * response < 2**24
    assert MAX_INHIBITION * response < 2**24, "orientations times inhibition"
    cell = MAX_CELL**2 * (16 * response // 64)
    assert 2 * cell < 2**24
    assert 2 * cell << 24 < 2**53
    assert math.isqrt(16 * 2 * cell) < 2**13, "the search holds features in 16 bits"
    mass = 255 * MAX_SIDE**2
    variance = ((MAX_SIDE - 1) / 2) ** 2
    assert 4096 * mass**2 * variance < 2**63
    assert mass**2 * (MAX_SIDE - 1) ** 2 < 2**63
    assert 255 * 256 * 256 < 2**24


def test_no_cosine_lies_where_libraries_could_round_it_differently() -> None:
    turns = [2 * math.pi * k / count for count in range(2, MAX_ORIENTATIONS + 1) for k in range(count)]
    for value in (16 * of(turn) for turn in turns for of in (math.cos, math.sin)):
        assert abs(value - math.floor(value) - 0.5) > 1e-3


def test_what_is_drawn_has_one_size() -> None:
    """A box, however large and wherever, gets the same height; and the geometric mean of both widths."""
    side, found = 32.0, []
    for top, left, height, width in ((2, 3, 10, 8), (8, 9, 16, 12), (4, 1, 20, 26), (12, 12, 6, 3)):
        image = torch.zeros(1, 1, 32, 32)
        image[:, :, top : top + height, left : left + width] = 200
        resized = resize_by_moments(image, image[:, 0].long())[0, 0].double()
        places = torch.arange(32.0, dtype=torch.float64)
        by_row, by_column = resized.sum(1) / resized.sum(), resized.sum(0) / resized.sum()
        for mass in (by_row, by_column):
            assert float(mass @ places) == pytest.approx(15.5, abs=0.3), "in the middle"
        deviations = [math.sqrt(float(mass @ places**2) - float(mass @ places) ** 2) for mass in (by_row, by_column)]
        found.append(((height, width), deviations))
    for (height, width), (high, wide) in found:
        assert high == pytest.approx(side * 13 / 56, rel=0.06)
        step = math.sqrt(height * width / 12 / (side * 13 / 56 * side * 10 / 56))
        assert wide == pytest.approx(width / math.sqrt(12) / step, rel=0.12)


def test_a_moved_image_has_the_same_features() -> None:
    image = torch.zeros(2, 1, 24, 24)
    image[0, 0, 3:15, 4:12] = torch.from_numpy(np.random.default_rng(0).integers(100, 256, (12, 8)) / 255).float()
    image[1, 0, 8:20, 10:18] = image[0, 0, 3:15, 4:12]
    features = sobel(image, options=SobelOptions(8, 5, 4, 4, 1, resize=True))
    assert torch.equal(features[0], features[1])
    features = sobel(image, options=SobelOptions(8, 5, 4, 4, 1))
    assert not torch.equal(features[0], features[1])


def test_an_image_and_its_mirror_image_have_the_same_features() -> None:
    x = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (6, 1, 28, 28)) / 255).float()
    stem = SobelEdges(SobelOptions(8, 5, 4, 4, 2, mirror=True))
    assert torch.equal(stem(x), stem(x.flip(3)))


def test_roots_of_integers() -> None:
    around = [(1 << 30) ** 2, (1 << 31) ** 2 - 1, 94906267**2, 3037000499**2 // 4]
    around += [(one + 2**30) ** 2 for one in range(1, 2000, 2)]  # squares that no float64 holds
    numbers = [*range(2000), *(one + step for one in around for step in (-1, 0, 1))]
    assert integer_root(torch.tensor(numbers)).tolist() == [math.isqrt(one) for one in numbers]


def test_golden_features() -> None:
    """The stem is part of the decoder: what it computes for an id never changes."""
    pixels = (np.arange(2 * 28 * 28).reshape(2, 1, 28, 28) ** 2 // 7) % 256
    digests = [
        hashlib.sha256(
            build(parse_model(name, input_shape=(1, 28, 28), classes=10))[0](torch.from_numpy(pixels / 255).float())
            .numpy()
            .astype("<i4")
            .tobytes()
        ).hexdigest()[:16]
        for name in ("sobel:8-5-8-4-1-5", "sobel:8-5-4-3-2-1", "sobel:10-4-6-3-2-6")
    ]
    assert digests == ["7d71fe2239d32232", "c536848f99500d72", "683c0c3073272df7"]


def test_the_same_in_every_batch_and_precision() -> None:
    x = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (140, 1, 16, 16)) / 255).float()
    stem = SobelEdges(SobelOptions(8, 5, 4, 4, 2, straighten=True, resize=True))
    whole = stem(x)
    assert torch.equal(whole, torch.cat([stem(one[None]) for one in x]))
    assert torch.equal(whole.double(), stem(x.double()))
    assert whole.dtype == torch.float32


def test_a_network_on_it_has_no_rounding_before_its_head() -> None:
    module = build(parse_model("sobel:8-5-4-2-1-5", input_shape=(1, 12, 12), classes=3))
    with torch.no_grad():
        module.get_parameter("fc1.weight").copy_(torch.randint(-1, 2, module.get_parameter("fc1.weight").shape))
    x = (np.random.default_rng(0).integers(0, 256, (5, 1, 12, 12)) / 255).astype(np.float32)
    logits = ToleranceRun(module, "float32")(x)
    assert torch.equal(logits.values, module(torch.from_numpy(x)).double())
    assert not logits.spread.any(), "integers below 2^24: no run can differ"


@pytest.mark.parametrize(
    ("view", "done"),
    list(enumerate(("", "straighten", "mirror", "straighten mirror", "straighten resize", "all"), start=1)),
)
def test_what_each_view_does(view: int, done: str) -> None:
    stem = build(parse_model(f"sobel:8-5-4-3-2-{view}", input_shape=(1, 28, 28), classes=10))[0]
    wanted = {name: name in done or done == "all" for name in ("straighten", "resize", "mirror")}
    assert stem.options == SobelOptions(8, 5, 4, 3, 2, **wanted)


def test_it_must_come_first() -> None:
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 1, 3), SobelEdges(SobelOptions(8, 5, 4, 4, 1)), torch.nn.Flatten())
    with pytest.raises(PactError, match="sobel of anything but the input"):
        ToleranceRun(module, "float32")(np.full((2, 1, 12, 12), 0.5, dtype=np.float32))


@pytest.mark.parametrize(
    ("sizes", "part"),
    [
        ("1-5-8-4-1-1", "orientations must lie in 2..32, got 1"),
        ("8-17-8-4-1-1", "inhibition must lie in 1..16, got 17"),
        ("8-5-13-4-1-1", "cell must lie in 1..12, got 13"),
        ("8-5-8-9-1-1", "stride must lie in 1..8, got 9"),
        ("8-5-8-4-3-1", r"roots .* must lie in 1..2, got 3"),
        ("8-5-8-4-1-7", r"view .* must lie in 1..6, got 7"),
    ],
)
def test_bad_sizes_are_refused(sizes: str, part: str) -> None:
    with pytest.raises(PactError, match=part):
        parse_model(f"sobel:{sizes}", input_shape=(1, 28, 28), classes=10)


def test_images_beyond_the_limits_are_refused() -> None:
    with pytest.raises(PactError, match="height and width"):
        parse_model("sobel", input_shape=(1, 65, 20), classes=10)
    with pytest.raises(PactError, match="images of shape"):
        parse_model("sobel", input_shape=(64,), classes=10)
