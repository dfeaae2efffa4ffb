"""Both bounds against the layer as a matrix, for every kind of layer; the upper one against a fine grid."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction

import hypothesis
import numpy as np
import pytest
import torch
from algebra.dense_layers import dense_norm, fill, layers, plane_norm
from torch import nn
from torch.nn.modules.conv import _ConvNd

import netpact
from netpact.algebra import ConvolutionOptions, convolution_norm, matrix_norm, operator_norm, symbol

ROUNDING = 1e-12  # of the reference, an SVD in float64


@hypothesis.settings(max_examples=200, deadline=None, derandomize=True)
@hypothesis.given(case=layers())
def test_the_true_norm_is_between_the_bounds(case: tuple[_ConvNd, tuple[int, ...]]) -> None:
    layer, shape = case
    found = operator_norm(layer, image_size=shape[1:])
    true = dense_norm(layer, shape)
    assert found.lower <= true * (1 + ROUNDING)
    assert true * (1 - ROUNDING) <= found.upper
    assert found.lower <= found.upper


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
@hypothesis.given(case=layers())
def test_the_upper_bound_is_near_the_plane(case: tuple[_ConvNd, tuple[int, ...]]) -> None:
    layer, shape = case
    hypothesis.assume(layer.padding_mode == "zeros")
    points = 60 if len(shape) == 2 else 16
    plane = plane_norm(layer.weight, stride=layer.stride, dilation=layer.dilation, groups=layer.groups, points=points)
    found = operator_norm(layer)
    # The reference's own grid loses up to cos(3 pi / 32)^-2 in two dimensions.
    assert plane * (1 - ROUNDING) <= found.upper <= 1.06 * plane * (1.003 if len(shape) == 2 else 1.1)


@pytest.mark.parametrize("shape", [(5, 5, 3, 3), (4, 6, 2, 3), (3, 8, 5), (7, 2, 4, 1)])
def test_the_upper_bound_is_within_six_percent_of_a_very_fine_grid(shape: tuple[int, ...]) -> None:
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(5))
    axes = len(shape) - 2
    plane = plane_norm(weight, stride=(1,) * axes, dilation=(1,) * axes, groups=1, points=64)
    missed = 1 / math.cos(math.pi * 4 / 128) ** axes  # what the reference can lose between its own points
    for slack in (0.047, 0.001):
        assert plane <= convolution_norm(weight, slack=slack).upper <= plane * (1 + min(slack, 0.011)) * missed


@pytest.mark.parametrize("channels", [72, 132])
def test_larger_layers_take_the_coarse_grid_and_stay_within_five_percent(channels: int) -> None:
    weight = torch.randn(channels, channels, 3, 3, generator=torch.Generator().manual_seed(2))
    symbols = torch.fft.rfft2(weight.double(), (16, 16)).permute(2, 3, 0, 1)
    plane = float(torch.linalg.svdvals(symbols).max())
    found = convolution_norm(weight)
    assert plane <= found.upper <= 1.05 * plane
    assert 0.93 * plane <= found.lower <= found.upper


def test_the_lower_bound_comes_near_on_larger_images() -> None:
    layer = nn.Conv2d(3, 4, 3, stride=2, dilation=3, padding=1)
    fill(layer, seed=3, kind="plain")
    found = [operator_norm(layer, image_size=pixels) for pixels in (8, 16, 40)]
    assert found[0].lower < found[1].lower < found[2].lower
    assert found[2].lower > 0.97 * found[2].upper
    assert {norm.upper for norm in found} == {found[0].upper}  # one bound for every size


@pytest.mark.parametrize("shape", [(1, 1), (3, 200), (200, 3), (150, 170), (130, 130)])
def test_a_matrix_is_exact_to_nine_digits(shape: tuple[int, int]) -> None:
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    true = float(np.linalg.norm(weight.double().numpy(), 2))
    found = matrix_norm(weight)
    assert found.lower <= true * (1 + ROUNDING)
    assert true * (1 - ROUNDING) <= found.upper <= true * (1 + 1e-9)
    assert found.lower >= true * (1 - 1e-9)
    layer = nn.Linear(shape[1], shape[0])
    layer.weight = nn.Parameter(weight)
    assert operator_norm(layer) == found


def test_known_norms() -> None:
    assert matrix_norm(torch.tensor([[3.0, 0.0], [4.0, 0.0]])).upper == pytest.approx(5, rel=1e-9)
    blur = torch.full((1, 1, 3, 3), 1 / 9)  # an average: 1, at frequency 0, which is on every grid
    assert 1 <= convolution_norm(blur).upper <= 1.006
    pick = torch.zeros(1, 1, 4, 4)
    pick[0, 0, 2, 1] = -7
    assert convolution_norm(pick, ConvolutionOptions(stride=4)).upper == pytest.approx(7, rel=1e-9)


def test_one_by_one_convolutions_are_exact() -> None:
    weight = torch.randn(6, 4, generator=torch.Generator().manual_seed(4))
    found = convolution_norm(weight[:, :, None, None], ConvolutionOptions(stride=2))
    assert found.upper == pytest.approx(matrix_norm(weight).upper, rel=1e-9)
    assert found.lower == pytest.approx(found.upper, rel=1e-3)


def turning_kernel(grid: int) -> torch.Tensor:
    """Two taps, two channels: singular values |cos((f -+ f0) / 2)|, with f0 half way between two points of the grid.

    The worst that a polynomial of its degree can do: on the grid it is nowhere above cos(pi / (2 grid)), its norm is 1.
    """
    turn = math.pi / grid
    rotation = torch.tensor([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]], dtype=torch.float64)
    return torch.stack([torch.eye(2, dtype=torch.float64), rotation], dim=2) / 2


@pytest.mark.parametrize("axes", [1, 2])
def test_a_peak_between_the_grid_points_is_covered(axes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpact.algebra.grids._CHEAP", 0.0)  # the coarsest grid that the slack allows
    weight, grid = turning_kernel(4 if axes == 1 else 6), 4 if axes == 1 else 6
    if axes == 2:
        weight = torch.stack([weight, torch.einsum("abt,bc->act", weight, 2 * weight[:, :, 1])], dim=3) / 2
    slack = math.cos(math.pi / (2 * grid)) ** -axes - 1 + 1e-9
    found = convolution_norm(weight, slack=slack)
    assert found.upper >= 1
    assert found.upper <= (1 + slack) * 1.002
    # Without the correction it would have been the value on the grid, too small:
    assert found.upper * math.cos(math.pi / (2 * grid)) ** axes < 0.99


def test_transposed_is_the_adjoint() -> None:
    weight = torch.randn(4, 3, 3, 3, generator=torch.Generator().manual_seed(8))
    there = convolution_norm(weight, ConvolutionOptions(stride=2, padding=1))
    back = convolution_norm(weight, ConvolutionOptions(stride=2, padding=1, transposed=True))
    assert there.upper == back.upper
    layer = nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1, bias=False)
    layer.weight = nn.Parameter(weight)
    assert dense_norm(layer, (4, 5, 6)) <= operator_norm(layer.float()).upper


@pytest.mark.parametrize("exponent", [-140, -40, 0, 60, 120])
def test_scale_does_not_matter(exponent: int) -> None:
    weight = torch.randn(3, 2, 3, generator=torch.Generator().manual_seed(6)).double()
    plain, scaled = convolution_norm(weight), convolution_norm(torch.ldexp(weight, torch.tensor(5 * exponent)))
    assert scaled.upper == math.ldexp(plain.upper, 5 * exponent)
    assert scaled.lower == math.ldexp(plain.lower, 5 * exponent)


@pytest.mark.parametrize("channels", [(2, 5), (5, 2)])
@pytest.mark.parametrize(("stride", "dilation", "mode"), [(1, 1, "zeros"), (2, 3, "zeros"), (2, 3, "circular")])
def test_the_wave_to_start_from_is_the_worst_one(
    channels: tuple[int, int], stride: int, dilation: int, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine taps have a sharp peak: one step of power iteration from any other wave falls far short."""
    monkeypatch.setattr("netpact.algebra.norms._STEP_WORK", 0.0)
    weight = torch.randn(*channels, 9, generator=torch.Generator().manual_seed(11))
    options = ConvolutionOptions(stride=stride, dilation=dilation, padding=4 * dilation, padding_mode=mode)
    found = convolution_norm(weight, options, image_size=240)
    plane = plane_norm(weight, stride=(stride,), dilation=(dilation,), groups=1, points=600)
    assert found.lower > 0.97 * plane


def test_the_error_of_the_symbol_enters_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.ones(1, 1, 1) / 2

    def with_error(kernel: torch.Tensor) -> symbol.GramSymbol:
        return dataclasses.replace(symbol.make_symbol(kernel), error=2.0)

    monkeypatch.setattr("netpact.algebra.plane.make_symbol", with_error)
    assert convolution_norm(weight).upper == pytest.approx(1.5)  # sqrt(1/4 + 2)


def test_the_error_of_the_symbol_covers_its_rounding() -> None:
    """Against fractions: at frequency 0 the Gram matrix is that of the sum of the taps."""
    kernel = torch.randn(1, 12, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = symbol.make_symbol(kernel)
    (computed,) = found.matrices(torch.zeros(1, 1, dtype=torch.long), (7,))
    total = [[sum(map(Fraction, taps)) for taps in row] for row in kernel[0].tolist()]
    for i, j in itertools.product(range(4), repeat=2):
        exact = sum(row[i] * row[j] for row in total)
        assert abs(Fraction(float(computed[0, i, j].real)) - exact) <= Fraction(found.error / 4)
    assert found.error < 1e-9 * float(computed.abs().max())


def test_extreme_numbers_round_outward() -> None:
    tiny = torch.tensor([[2.0**-1074]], dtype=torch.float64)
    assert matrix_norm(tiny).lower <= 2.0**-1074 <= matrix_norm(tiny).upper <= 2.0**-1072
    pair = tiny.expand(1, 2)  # sqrt 2 times the smallest number: the next one above is twice that
    assert matrix_norm(pair).upper >= 2.0**-1073
    huge = torch.full((2, 2), 1.7e308, dtype=torch.float64)
    assert matrix_norm(huge).upper == math.inf
    assert matrix_norm(huge).lower > 1.79e308


def test_zero_weights_and_zero_groups() -> None:
    assert convolution_norm(torch.zeros(2, 2, 3, 3)) == (0, 0)
    assert matrix_norm(torch.zeros(2, 5)) == (0, 0)
    weight = torch.zeros(4, 1, 3)
    weight[3, 0, 1] = 2.0
    found = convolution_norm(weight, ConvolutionOptions(groups=4))
    assert 2 <= found.upper <= 2.01
    assert found.lower > 1.9


def test_same_answer_each_time_and_nothing_changed() -> None:
    layer = nn.Conv2d(3, 5, 3)
    fill(layer, seed=1, kind="plain")
    before = layer.weight.detach().clone()
    state = torch.get_rng_state()
    with torch.inference_mode():
        first = netpact.operator_norm(layer)
    assert first == netpact.operator_norm(layer.to(torch.float64))
    assert torch.equal(before.double(), layer.weight.detach())
    assert torch.equal(state, torch.get_rng_state())
    assert layer.weight.grad is None
