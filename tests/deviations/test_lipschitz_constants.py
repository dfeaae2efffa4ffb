"""Every constant of the calculus: never exceeded in a search, and attained up to a few per cent where it is tight."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from netpact.algebra.lipschitz import (
    adaptive_pool_constant,
    averaging_norm,
    copying_norm,
    max_pool_constant,
    mixes_samples,
)
from netpact.algebra.outward import margin_needed, norm_up
from netpact.network.rounding.pointwise import POINTWISE, Pointwise, describe

# One call of each function that has a rule, and where it is steepest.
FUNCTIONS: dict[str, tuple[Callable[[Tensor], Tensor], tuple[object, ...], dict[str, object], float]] = {
    "relu": (torch.relu, (), {}, 1.0),
    "relu6": (functional.relu6, (), {}, 1.0),
    "hardtanh": (lambda x: functional.hardtanh(x, -1.0, 2.0), (-1.0, 2.0), {}, 0.5),
    "clamp": (lambda x: x.clamp(-0.3, 1), (-0.3,), {"max": 1}, 0.5),
    "clip": (lambda x: x.clip(-0.3, 1), (-0.3, 1), {}, 0.5),
    "clamp_min": (lambda x: x.clamp_min(-0.3), (-0.3,), {}, 0.5),
    "clamp_max": (lambda x: x.clamp_max(0.3), (0.3,), {}, -0.5),
    "abs": (torch.abs, (), {}, 1.0),
    "neg": (torch.neg, (), {}, 1.0),
    "mul": (lambda x: x * -0.3, (-0.3,), {}, 1.0),
    "div": (lambda x: x / -0.3, (-0.3,), {}, 1.0),
    "leaky_relu": (lambda x: functional.leaky_relu(x, -1.5), (), {"negative_slope": -1.5, "inplace": True}, -1.0),
    "tanh": (torch.tanh, (), {}, 0.0),
    "sigmoid": (torch.sigmoid, (), {}, 0.0),
    "silu": (functional.silu, (), {"inplace": False}, 2.3993573),
    "gelu": (functional.gelu, (), {}, math.sqrt(2)),
    "gelu by tanh": (lambda x: functional.gelu(x, approximate="tanh"), (), {"approximate": "tanh"}, 1.4185040),
    "elu": (lambda x: functional.elu(x, 1.7), (), {"alpha": 1.7, "inplace": False}, -1e-4),
    "flat elu": (lambda x: functional.elu(x, 0.7), (), {"alpha": 0.7}, 1.0),
    "softplus": (lambda x: functional.softplus(x, 3, 12), (3, 12), {}, 3.9),
    "hardsigmoid": (functional.hardsigmoid, (), {"inplace": False}, 0.0),
    "hardswish": (functional.hardswish, (), {"inplace": False}, 2.9999),
    "mish": (functional.mish, (), {"inplace": False}, 1.4905712),
    "softsign": (functional.softsign, (), {}, 0.0),
    "selu": (functional.selu, (), {"inplace": False}, -1e-5),
    "erf": (torch.erf, (), {}, 0.0),
    "sin": (torch.sin, (), {}, 0.0),
    "cos": (torch.cos, (), {}, math.pi / 2),
}


def described(name: str) -> Pointwise:
    _, args, kwargs, _ = FUNCTIONS[name]
    return describe(name.split()[-1] if name == "flat elu" else name.split()[0], (None, *args), kwargs)


def test_every_pointwise_function_is_searched() -> None:
    """Names of changes in place and of signs share the entry of the plain one."""
    searched = {POINTWISE[name.split()[-1] if name == "flat elu" else name.split()[0]] for name in FUNCTIONS}
    assert searched == set(POINTWISE.values())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_are_never_exceeded_and_are_attained(name: str) -> None:
    function, _, _, steepest = FUNCTIONS[name]
    known = described(name)
    generator = torch.Generator().manual_seed(1)
    a = torch.randn(200_000, generator=generator, dtype=torch.float64) * 3
    b = a + torch.randn(200_000, generator=generator, dtype=torch.float64) * 10.0 ** -torch.randint(
        0, 5, (200_000,), generator=generator
    )
    moved = (function(a) - function(b)).abs()
    assert bool((moved <= known.slope * (a - b).abs() + known.jump + 1e-14).all())
    near = torch.tensor([steepest - 1e-6, steepest + 1e-6], dtype=torch.float64)
    assert float(function(near).diff().abs()) / 2e-6 >= known.slope * (1 - 1e-4)


def exact_tanh_gelu(x: Any) -> Any:
    return x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)))


def exact_mish(x: Any) -> Any:
    return x * mpmath.tanh(mpmath.log(1 + mpmath.exp(x)))


STEEPEST: dict[str, Callable[[], Any]] = {
    "gelu": lambda: mpmath.ncdf(mpmath.sqrt(2)) + mpmath.sqrt(2) * mpmath.npdf(mpmath.sqrt(2)),
    "gelu by tanh": lambda: max(mpmath.diff(exact_tanh_gelu, x) for x in mpmath.linspace(1.4180, 1.4190, 101)),
    "silu": lambda: (mpmath.findroot(lambda x: x * mpmath.tanh(x / 2) - 2, 2.4) + 2) / 4,
    "hardswish": lambda: mpmath.mpf(3) / 2,
    "sigmoid": lambda: mpmath.mpf(1) / 4,
    "mish": lambda: max(mpmath.diff(exact_mish, x) for x in mpmath.linspace("1.4903", "1.4908", 11)),
    "selu": lambda: mpmath.mpf("1.0507009873554804934193349852946") * mpmath.mpf("1.6732632423543772848170429916717"),
    "erf": lambda: 2 / mpmath.sqrt(mpmath.pi),
}


@pytest.mark.parametrize("name", STEEPEST)
def test_slopes_against_thirty_digits(name: str) -> None:
    with mpmath.workdps(30):
        exact = STEEPEST[name]()
        assert 0 <= mpmath.mpf(described(name).slope) - exact < 1e-6


def test_the_step_of_softplus_is_the_one_at_its_threshold() -> None:
    known = described("softplus")
    sides = torch.tensor([4.0, 4.0 + 1e-12], dtype=torch.float64)
    step = float(-functional.softplus(sides, 3, 12).diff())
    assert known.jump * (1 - 1e-3) <= step <= known.jump


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
    found = max_pool_constant(kernel=kernel, stride=stride, dilation=dilation, windows=tuple(pooled.shape[2:]))
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


@pytest.mark.parametrize(
    ("image", "windows", "expected"),
    [((6, 6), (3, 2), 1.0), ((5, 7), (3, 2), 2.0), ((7, 4), (3, 4), math.sqrt(2)), ((3, 3), (5, 4), math.sqrt(6))],
)
def test_adaptive_max_pooling_s_constant_is_attained(image: Any, windows: Any, expected: float) -> None:
    """One pixel raised by 1: the worst pixel is seen by as many windows as the constant says."""
    pixels = image[0] * image[1]
    raised = torch.eye(pixels, dtype=torch.float64).reshape(pixels, 1, *image)
    worst = float(torch.linalg.vector_norm(functional.adaptive_max_pool2d(raised, windows).flatten(1), dim=1).max())
    assert worst == pytest.approx(expected)
    assert expected <= adaptive_pool_constant(sides=image, windows=windows) <= expected * (1 + 1e-12)


def test_the_largest_entry_of_many_samples_is_seen() -> None:
    for pick in (torch.amax, torch.amin):
        assert not mixes_samples(lambda x, pick=pick: pick(x, dim=(1, 2)), (2, 2))  # type: ignore[misc]
        assert not mixes_samples(lambda x, pick=pick: pick(x, dim=-1, keepdim=True), (2,))  # type: ignore[misc]
        for axes, kept in ((0, False), (0, True), ((0, 1), False), ((), False)):
            look = partial(pick, dim=axes, keepdim=kept)
            assert mixes_samples(look, (2, 2))


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
    "sum": ((3, 4, 4), lambda x: x.sum(dim=(2, 3)), 1.0),
    "lines": ((2, 9), lambda x: functional.avg_pool1d(x, 3, 1), 1.03),
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
    "expand": ((1, 3), lambda x: x.expand(-1, 4, -1)),
    "repeat": ((2, 3), lambda x: x.repeat(1, 3, 2)),
    "upsample": ((2, 3, 3), lambda x: functional.interpolate(x, scale_factor=2)),
    "shuffle": ((4, 3, 3), lambda x: functional.pixel_shuffle(x, 2)),
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
