"""Convolutions between layer norms: a second implementation in loops, and what the family refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from netpact.algebra.symmetry import GROUPS, Symmetry
from netpact.core.errors import PactError
from netpact.models import Architecture, build, parse_model

LNCONV = 20
Array = NDArray[np.float64]
CASES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3, 1, 4, 2), (1, 8, 8)),
    ((4, 2, 3, 1, 3, 1, 5, 2), (3, 9, 11)),
    ((1, 1, 2, 1, 5, 3, 4, 1, 1, 1, 3, 1), (2, 10, 7)),
    ((7, 5, 3, 2), (1, 13, 10)),
]


def slow_norm(x: Array) -> Array:
    """Of all channels and places of one image; 1e-5 is torch's."""
    return np.asarray((x - x.mean()) / math.sqrt(((x - x.mean()) ** 2).mean() + 1e-5))


def slow_conv(x: Array, weight: Array, *, stride: int) -> Array:
    """Windows begin every stride places; those at the image's begin overlap its edge as far as those at its end."""
    _, height, width = x.shape
    kernel = weight.shape[2]
    out = np.zeros((len(weight), height // stride, width // stride))
    for o, i, j in np.ndindex(*out.shape):
        for c, a, b in np.ndindex(*weight.shape[1:]):
            row, column = (start * stride + at - (kernel - stride) // 2 for start, at in ((i, a), (j, b)))
            if 0 <= row < height and 0 <= column < width:
                out[o, i, j] += weight[o, c, a, b] * x[c, row, column]
    return out


def slow_pool(x: Array) -> Array:
    channels, height, width = x.shape
    out = np.zeros((channels, height // 2, width // 2))
    for c, i, j in np.ndindex(*out.shape):
        out[c, i, j] = x[c, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max()
    return out


def slow_logits(sizes: tuple[int, ...], weights: dict[str, Array], x: Array) -> Array:
    x = slow_norm(x)
    for number in range(len(sizes) // 4):
        _, stride, _, pool = sizes[4 * number : 4 * number + 4]
        x = np.maximum(slow_norm(slow_conv(x, weights[f"conv{number + 1}.weight"], stride=stride)), 0)
        x = slow_pool(x) if pool == 2 else x
    return weights["fc1.weight"] @ x.ravel()


def named(module: torch.nn.Module) -> dict[str, Array]:
    return {name: parameter.detach().numpy() for name, parameter in module.named_parameters()}


@pytest.mark.parametrize(("sizes", "shape"), CASES)
def test_logits_are_those_of_the_loops(sizes: tuple[int, ...], shape: tuple[int, ...]) -> None:
    module = build(Architecture(LNCONV, sizes, shape, 3)).double()
    x = np.random.default_rng(0).random((2, *shape))
    found = module(torch.from_numpy(x)).detach().numpy()
    expected = [slow_logits(sizes, named(module), image) for image in x]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_how_large_weights_are_changes_no_prediction() -> None:
    """Signs serve as well as other numbers: but for the 1e-5 under the root, layer norms take out any scale."""
    module = build(Architecture(LNCONV, (3, 1, 4, 2, 3, 1, 5, 1), (3, 8, 8), 4)).double()
    x = torch.from_numpy(np.random.default_rng(0).random((5, 3, 8, 8)))
    with torch.no_grad():
        before = module(x)
        for name, parameter in module.named_parameters():
            parameter.mul_(1 if name.startswith("fc1") else 100)
        torch.testing.assert_close(module(x), before, rtol=1e-2, atol=1e-3)


def test_one_image_alone_gives_what_it_gives_among_others() -> None:
    module = build(Architecture(LNCONV, (3, 1, 2, 2), (1, 2, 2), 2)).double()
    x = torch.from_numpy(np.random.default_rng(0).random((3, 1, 2, 2)))
    assert torch.equal(module(x), torch.cat([module(one[None]) for one in x]))


def moved(x: Tensor, number: int, group: str) -> Tensor:
    return torch.from_numpy(GROUPS[group][number].move(x.numpy()).copy())


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("sizes", [(4, 2, 8, 1, 3, 1, 16, 2), (3, 1, 8, 2, 5, 3, 8, 1)])
def test_tied_weights_cannot_tell_moved_images_from_images(group: str, sizes: tuple[int, ...]) -> None:
    """Padding, strides, norms and pooling are those of the moved image, too."""
    shape = (2, 8, 8) if sizes[1] == 2 else (2, 12, 12)
    module = build(Architecture(LNCONV, sizes, shape, 3)).double()
    side = round(math.sqrt(module.get_parameter("fc1.weight").shape[1] / sizes[-2]))
    ways = {"conv1.weight": (False, True), "conv2.weight": (True, True), "fc1.weight": (True, False)}
    for name, (inputs, outputs) in ways.items():
        weight = module.get_parameter(name)
        shape_of = tuple(weight.shape)
        grid = shape_of if len(shape_of) == 4 else (shape_of[0], sizes[-2], side, side)
        owners = Symmetry(group, inputs, outputs).owners((grid[0], grid[1], grid[2], grid[3]))
        with torch.no_grad():
            weight.copy_(weight.reshape(-1)[owners].reshape(shape_of))
    x = torch.from_numpy(np.random.default_rng(0).random((4, *shape)))
    logits = module(x).detach()
    assert float(logits.std(dim=0).min()) > 1e-3, "images are told from each other"
    for number in range(len(GROUPS[group])):
        torch.testing.assert_close(module(moved(x, number, group)).detach(), logits, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("sizes", "shape", "message"),
    [
        ("3-1-4", (1, 8, 8), "lnconv sizes are side of the kernel, stride, channels and pooling .*, 4 to 64 of them"),
        ("3-1-4-1-3", (1, 8, 8), r"lnconv: four sizes for each layer, got 5 \(for example lnconv:5-1-16-2\)"),
        ("4-1-4-1", (1, 8, 8), r"lnconv, layer 1: side of the kernel, the stride and an even number .*1\.\.63, got 4"),
        ("3-1-4-1-2-3-4-1", (1, 8, 8), r"lnconv, layer 2: side of the kernel.* must lie in 3\.\.63, got 2"),
        ("65-1-4-1", (1, 80, 80), r"layer 1: side of the kernel.* must lie in 1\.\.63, got 65"),
        ("9-9-4-1", (1, 8, 12), r"lnconv, layer 1: stride must lie in 1\.\.8, got 9"),
        ("70-70-4-1", (1, 80, 80), r"lnconv, layer 1: stride must lie in 1\.\.63, got 70"),
        ("3-1-4-3", (1, 8, 8), r"layer 1: pooling \(1 none, 2 windows of 2 x 2\) must lie in 1\.\.2, got 3"),
        ("4-4-4-1-3-1-4-2-3-1-4-2", (1, 8, 8), r"lnconv, layer 3: pooling .* must lie in 1\.\.1, got 2"),
        ("8-8-1-1", (1, 8, 8), r"lnconv: a layer norm would see one number.* \(more channels or pixels\)"),
        ("1-1-4-1", (1, 1, 1), "a layer norm would see one number"),
        ("3-1-4-1", (64,), "lnconv needs images of shape"),
    ],
)
def test_wrong_sizes_are_refused(sizes: str, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(PactError, match=message) as caught:
        parse_model(f"lnconv:{sizes}", input_shape=shape, classes=3)
    assert caught.value.where


@pytest.mark.parametrize("shape", [(1, 1, 2), (3, 5, 4), (1, 7, 12)])
def test_every_allowed_layer_can_be_built_and_run_on_one_image(shape: tuple[int, int, int]) -> None:
    built = 0
    for kernel, stride, channels, pool in np.ndindex(14, 8, 3, 3):
        try:
            architecture = Architecture(LNCONV, (kernel + 1, stride + 1, channels + 1, pool + 1), shape, 2)
        except PactError:
            continue
        assert build(architecture)(torch.zeros(1, *shape)).shape == (1, 2)
        built += 1
    assert built > 10
