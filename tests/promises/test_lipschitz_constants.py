"""Every constant of the calculus: never exceeded in a search, and attained up to a few per cent where it is tight."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from netpact.promises.lipschitz import ACTIVATIONS, averaging_norm, copying_norm, max_pool_constant
from netpact.promises.outward import margin_needed, norm_up

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "relu_": lambda x: torch.relu_(x.clone()),
    "relu6": functional.relu6,
    "hardtanh": lambda x: functional.hardtanh(x, -1.0, 2.0),
    "leaky_relu": lambda x: functional.leaky_relu(x, 0.3),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
}


def constant(name: str) -> float:
    return ACTIVATIONS[name](None, 0.3) if name == "leaky_relu" else ACTIVATIONS[name](None)


def test_every_activation_is_searched() -> None:
    assert FUNCTIONS.keys() == ACTIVATIONS.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_are_never_exceeded_and_are_attained(name: str) -> None:
    generator = torch.Generator().manual_seed(1)
    a = torch.randn(200_000, generator=generator, dtype=torch.float64) * 3
    b = a + torch.randn(200_000, generator=generator, dtype=torch.float64) * 10.0 ** -torch.randint(
        0, 5, (200_000,), generator=generator
    )
    slopes = (FUNCTIONS[name](a) - FUNCTIONS[name](b)).abs() / (a - b).abs()
    assert float(slopes.max()) <= constant(name) * (1 + 1e-9)
    assert float(slopes.max()) >= constant(name) * 0.99


def test_a_steep_leaky_relu_is_as_steep_as_its_slope() -> None:
    assert ACTIVATIONS["leaky_relu"](None, negative_slope=-1.5) == 1.5


POOLS = [  # kernel, stride, padding, dilation, image, the constant
    ((2, 2), (2, 2), (0, 0), (1, 1), (8, 8), 1.0),
    ((3, 3), (2, 2), (1, 1), (1, 1), (9, 9), 2.0),
    ((3, 3), (1, 1), (0, 0), (1, 1), (9, 9), 3.0),
    ((3, 2), (2, 2), (0, 0), (1, 1), (9, 8), math.sqrt(2)),
    ((3, 3), (2, 2), (0, 0), (2, 2), (11, 11), 3.0),
    ((2, 3), (3, 2), (0, 0), (2, 3), (12, 16), math.sqrt(2)),
    ((5, 5), (1, 1), (0, 0), (1, 1), (5, 6), math.sqrt(2)),
    ((4, 4), (3, 3), (2, 2), (1, 1), (10, 10), 2.0),
]


@pytest.mark.parametrize(("kernel", "stride", "padding", "dilation", "image", "expected"), POOLS)
def test_max_pooling_by_its_worst_entry(
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    image: tuple[int, int],
    expected: float,
) -> None:
    """Raising one entry of a constant image raises every window it is in: the worst entry attains the constant."""
    pixels = image[0] * image[1]
    raised = torch.eye(pixels, dtype=torch.float64).reshape(pixels, 1, *image)
    pooled = functional.max_pool2d(raised, kernel, stride, padding, dilation)
    found = max_pool_constant(kernel=kernel, stride=stride, dilation=dilation, windows=tuple(pooled.shape[2:]))  # type: ignore[arg-type]
    worst = float(torch.linalg.vector_norm(pooled.flatten(1), dim=1).max())
    assert found == pytest.approx(expected)
    assert worst == pytest.approx(found)
    generator = torch.Generator().manual_seed(2)
    a, b = (torch.randn(500, 1, *image, generator=generator, dtype=torch.float64) for _ in range(2))
    moved = functional.max_pool2d(a, kernel, stride, padding, dilation) - functional.max_pool2d(
        b, kernel, stride, padding, dilation
    )
    ratios = torch.linalg.vector_norm(moved.flatten(1), dim=1) / torch.linalg.vector_norm((a - b).flatten(1), dim=1)
    assert float(ratios.max()) <= found


def dense_norm(change: Callable[[Tensor], Tensor], shape: tuple[int, ...]) -> float:
    """The largest singular value of a linear map of one sample, from its matrix."""
    count = math.prod(shape)
    rows = change(torch.eye(count, dtype=torch.float64).reshape(count, *shape)).reshape(count, -1)
    return float(torch.linalg.svdvals(rows)[0])


AVERAGES: dict[str, tuple[tuple[int, ...], Callable[[Tensor], Tensor], float]] = {
    # how much the bound may exceed the norm: windows side by side are exact
    "2 x 2": ((2, 6, 6), lambda x: functional.avg_pool2d(x, 2), 1.0),
    "cut off": ((1, 7, 5), lambda x: functional.avg_pool2d(x, (3, 2)), 1.0),
    "overlapping": ((1, 9, 9), lambda x: functional.avg_pool2d(x, 3, 2), 1.03),
    "padded": ((1, 9, 9), lambda x: functional.avg_pool2d(x, 3, 2, 1), 1.03),
    "without the padding": ((1, 9, 9), lambda x: functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False), 1.03),
    "stride 1": ((1, 8, 8), lambda x: functional.avg_pool2d(x, 3, 1), 1.03),
    "own divisor": ((1, 6, 6), lambda x: functional.avg_pool2d(x, 2, divisor_override=-3), 1.0),
    "adaptive": ((2, 7, 5), lambda x: functional.adaptive_avg_pool2d(x, (3, 2)), 1.03),
    "whole image": ((3, 4, 4), lambda x: x.mean(dim=(2, 3)), 1.0),
    "channels": ((3, 4, 4), lambda x: x.mean(dim=1, keepdim=True), 1.0),
}


@pytest.mark.parametrize("name", AVERAGES)
def test_norms_of_averages(name: str) -> None:
    shape, average, slack = AVERAGES[name]
    true, found = dense_norm(average, shape), averaging_norm(average, shape)
    assert found is not None
    assert true <= found <= true * slack * (1 + 1e-8)


def test_averages_over_samples_are_seen() -> None:
    assert averaging_norm(lambda x: x.mean(dim=0), (3,)) is None
    assert averaging_norm(lambda x: x.mean(), (3,)) is None
    assert averaging_norm(lambda x: x.mean(dim=0, keepdim=True).expand(2, 3), (3,)) is None
    assert averaging_norm(lambda x: x.mean(dim=0, keepdim=True).expand(2, 2), (2,)) is None


MOVES: dict[str, tuple[tuple[int, ...], Callable[[Tensor], Tensor]]] = {
    "zeros": ((1, 4, 4), lambda x: functional.pad(x, (1, 2, 3, 0))),
    "circular": ((1, 4, 4), lambda x: functional.pad(x, (1, 1, 1, 1), mode="circular")),
    "circular twice": ((1, 4, 4), lambda x: functional.pad(x, (3, 3, 2, 2), mode="circular")),
    "reflect": ((1, 4, 5), lambda x: functional.pad(x, (2, 2, 1, 1), mode="reflect")),
    "replicate": ((1, 4, 5), lambda x: functional.pad(x, (2, 1, 3, 0), mode="replicate")),
    "permute": ((2, 3, 4), lambda x: x.permute(0, 3, 1, 2)),
    "slice": ((2, 3, 4), lambda x: x[:, :, 1:, ::2]),
    "again": ((5,), lambda x: x[:, [0, 1, 1, 1, 2]]),
}


@pytest.mark.parametrize("name", MOVES)
def test_norms_of_moves_are_exact(name: str) -> None:
    shape, move = MOVES[name]
    found = copying_norm(move, (3, *shape))
    assert found == [pytest.approx(dense_norm(move, shape))]
    assert found[0] >= dense_norm(move, shape) * (1 - 1e-12)


@pytest.mark.parametrize(
    "move",
    [
        lambda x: x.transpose(0, 1),
        lambda x: x.reshape(2, 8),
        lambda x: x.flatten(),
        lambda x: x.flip(0),
        lambda x: x[:1],
        lambda x: x[[0, 0, 1, 2]],
        lambda x: x.permute(1, 0).contiguous().view(4, 4),
    ],
)
def test_moves_across_samples_are_seen(move: Callable[[Tensor], Tensor]) -> None:
    assert copying_norm(move, (4, 4)) is None


def test_norms_are_never_too_small() -> None:
    rows = torch.tensor([[3.0, 4.0], [1e-200, 1e-200], [0.0, 0.0]], dtype=torch.float64)
    assert bool((norm_up(rows) >= torch.tensor([5.0, math.sqrt(2) * 1e-200, 0.0])).all())
    generator = torch.Generator().manual_seed(3)
    drawn = torch.randn(20, 5000, generator=generator, dtype=torch.float64)
    for row, found in zip(drawn, norm_up(drawn), strict=True):
        assert float(found) >= math.sqrt(math.fsum(float(entry) ** 2 for entry in row))


def test_the_margin_needed_has_the_factor_of_a_difference() -> None:
    """f = (1.5, 0) and g = (0.5, 1): each logit moves by 1, the margin by 2 = sqrt(2) |f - g|."""
    needed = float(margin_needed(torch.tensor([math.sqrt(2.0)], dtype=torch.float64)))
    assert 2.0 <= needed < 2.0 + 1e-9
