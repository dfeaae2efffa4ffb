"""What the fixed stems were chosen on: python records/stem_choice.py fonts FONTS | clothes | photographs.

Each line is one variant of a stem, judged by one short search (signs trained for 2,000 steps, 1,500 steps of annealing,
one seed) for the bound on those errors and ideal bits; lines of one table differ by chance by about 0.1 points.

    fonts        60,000 digits drawn by fonts (records/pen_digits.py; FONTS as for records/pen_transfer.py), and the
                 same with less slant, bending and fewer gaps: for the stem of Sobel edges
    clothes      the 10,000 test images of Fashion-MNIST, six times: for its filter and roots
    photographs  the 10,000 test images of CIFAR-10, five times: what the stem of contours took over from another one

No image of a certified sample is looked at. An image that is there six times counts six times and can be learned by
heart: these bounds are comparable within their table and with nothing else, and small differences mislead.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
import pen_digits
import torch
from torch import Tensor

import netpact
from netpact.core.seed import Seed
from netpact.datasets import Samples
from netpact.layers import contour_maps, contours, sobel_edges
from netpact.methods.annealing import anneal
from netpact.methods.flips import Flips
from netpact.methods.sign_training import train_signs

RATE, TRAINING_STEPS, ANNEALING_STEPS = 8.0, 2000, 1500
MILD = {"SLANT": 0.3, "TURN": 6.0, "STRETCH": 0.15, "BEND": (0.02, 0.09), "GAPS": 0.05, "PEN": (1.8, 4.2)}
Patches = tuple[tuple[object, str, object], ...]  # where, which name, and what stands for it
Images = tuple[Tensor, np.ndarray]


def plain_differences(grey: Tensor, _: int) -> Tensor:
    return contour_maps._responses(grey)


inhibit, draw_maps = contour_maps._inhibit, contour_maps.draw_maps
FONTS: dict[str, tuple[str, Patches]] = {
    "as it is": ("sobel:8-5-8-4-1-5", ()),
    "not resized": ("sobel:8-5-8-4-1-2", ()),
    "neither straightened": ("sobel:8-5-8-4-1-1", ()),
    "fourth roots": ("sobel:8-5-8-4-2-5", ()),
    "no roots": ("sobel:8-5-8-4-1-5", ((sobel_edges, "whole_root", lambda sums: torch.floor(sums / 64)),)),
    "inhibition 3": ("sobel:8-3-8-4-1-5", ()),
    "6 orientations, inhibition 6": ("sobel:6-6-8-4-1-5", ()),
    "12 orientations, inhibition 3": ("sobel:12-3-8-4-1-5", ()),
    "cells of 6 at 3": ("sobel:8-5-6-3-1-5", ()),
    "cells of 6 at 4": ("sobel:8-5-6-4-1-5", ()),
    "plain differences": ("sobel:8-5-8-4-1-5", ((sobel_edges, "_edges", plain_differences),)),
    "the stem of oriented edges": ("oriented:8-5-8-4-2", ()),
}
CLOTHES: dict[str, tuple[str, Patches]] = {
    "fourth roots, cells of 4 at 3": ("sobel:8-5-4-3-2-1", ()),
    "square roots": ("sobel:8-5-4-3-1-1", ()),
    "plain differences": ("sobel:8-5-4-3-2-1", ((sobel_edges, "_edges", plain_differences),)),
    "cells of 6 at 4": ("sobel:8-5-6-4-2-1", ()),
    "resized": ("sobel:8-5-4-3-2-5", ()),
    "the stem of oriented edges": ("oriented:8-5-6-3-1", ()),
}
PHOTOGRAPHS: dict[str, tuple[str, Patches]] = {
    "as it is": ("contours:8-4-2-3", ()),
    "no square root": ("contours:8-4-2-3", ((contours, "whole_root", lambda sums: sums),)),
    "no inhibition": ("contours:8-4-2-3", ((contour_maps, "_inhibit", lambda maps, _: torch.floor(maps / 4)),)),
    "half the inhibition": (
        "contours:8-4-2-3",
        ((contour_maps, "_inhibit", lambda maps, much: inhibit(maps, much / 2)),),
    ),
    "no mirror image": ("contours:8-4-2-1", ()),
    "no mirror image, 4 x 4 waves": ("contours:8-4-4-1", ()),
    "without colours": (
        "contours:8-4-2-3",
        ((contours, "draw_maps", lambda pixels: draw_maps(without_colours(pixels))),),
    ),
}


def without_colours(pixels: Tensor) -> Tensor:
    """The same number of maps; those of colours are empty."""
    return torch.floor(pixels.mean(dim=1, keepdim=True)).expand_as(pixels)


def judge(model: str, patches: Patches, images: Images, *, times: int) -> str:
    x, y = images
    stem = netpact.build(netpact.parse_model(model, input_shape=tuple(x.shape[1:]), classes=10))[0]
    with ExitStack() as stack:
        for where, name, other in patches:
            stack.enter_context(patch.object(where, name, other))
        features = torch.cat([stem(part) for part in x.split(500)]).repeat(times, 1, 1, 1)
    rows, columns = features.shape[2:]
    labels = np.tile(y, times).astype(np.int64)
    known = Flips(features.flatten(1).numpy(), labels, classes=10, image=(rows, columns))
    start = np.zeros((10, features[0].numel()))
    signs = train_signs(known, start, rate=RATE, seed=Seed(0), steps=TRAINING_STEPS)
    found = anneal(known, signs, steps=ANNEALING_STEPS, bit_price=1.0, random=Seed(0).numpy(), progress=None)
    errors = known.errors(known.logits(found.signs)) / known.samples
    bits = known.code.cheapest(found.signs).message_bits(found.signs)
    return f"{found.score:7.2%} {errors:8.2%} {bits:7.0f}"


def draw_fonts(folder: str) -> Iterator[tuple[str, Images]]:
    for name, constants, seed in (("digits drawn by fonts", {}, 11), ("the same, drawn milder", MILD, 21)):
        with ExitStack() as stack:
            for constant, value in constants.items():
                stack.enter_context(patch.object(pen_digits, constant, value))
            made = pen_digits.make_digits(pen_digits.read_glyphs(folder), 60_000, seed=seed, name="fonts")
        yield name, gather(made)


def test_images(name: str) -> Images:
    data = netpact.load_data(name)
    assert data.test is not None
    return gather(data.test)


def gather(samples: Samples) -> Images:
    parts = list(samples.batches(5000))
    return torch.from_numpy(np.concatenate([x for x, _ in parts])), np.concatenate([y for _, y in parts])


def tell(name: str, variants: Mapping[str, tuple[str, Patches]], images: Images, *, times: int = 1) -> None:
    sys.stdout.write(f"\n{name:32}   bound   errors    bits\n")
    for variant, (model, patches) in variants.items():
        sys.stdout.write(f"{variant:32} {judge(model, patches, images, times=times)}\n")
        sys.stdout.flush()


def main() -> None:
    torch.set_num_threads(1)
    match sys.argv[1:]:
        case ["fonts", folder]:
            for name, images in draw_fonts(folder):
                tell(name, FONTS, images)
        case ["clothes"]:
            tell("test images of Fashion-MNIST", CLOTHES, test_images("fashion_mnist"), times=6)
        case ["photographs"]:
            tell("test images of CIFAR-10", PHOTOGRAPHS, test_images("cifar10"), times=5)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
