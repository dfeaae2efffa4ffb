"""The gain of one kernel is at least the norm of its convolution, and hardly more."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from netpact.algebra import PADDING_MODES, ConvolutionOptions
from netpact.algebra.component_norms import component_gains, largest_frequencies


def kernels(*shape: int, seed: int = 0) -> Tensor:
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made / made.flatten(1).norm(dim=1)[:, None, None]


def peak_on_grid(kernel: Tensor, points: int) -> float:
    """|sum over the taps C e^(-i theta tap)| on a dense grid of frequencies."""
    return float(torch.fft.fft2(kernel, s=(points, points)).abs().max())


def norm_as_matrix(kernel: Tensor, options: ConvolutionOptions, side: int) -> float:
    """The largest singular value of the convolution written out for an image of this side."""
    units = torch.eye(side * side, dtype=torch.float64).reshape(-1, 1, side, side)
    amounts = int(options.padding)  # type: ignore[arg-type]
    mode = "constant" if options.padding_mode == "zeros" else options.padding_mode
    padded = functional.pad(units, [amounts] * 4, mode=mode)
    columns = functional.conv2d(padded, kernel[None, None], stride=options.stride, dilation=options.dilation)
    return float(torch.linalg.matrix_norm(columns.flatten(1), ord=2))


@pytest.mark.parametrize("shape", [(40, 3, 3), (20, 5, 5), (20, 1, 4), (10, 7, 2), (5, 1, 1)])
def test_is_the_peak_of_the_symbol(shape: tuple[int, ...]) -> None:
    made = kernels(*shape)
    found = component_gains(made)
    for kernel, gain in zip(made, found.tolist(), strict=True):
        peak = peak_on_grid(kernel, 256)
        assert peak <= gain <= min(1.012 * peak, float(kernel.abs().sum()) * (1 + 1e-9))


def test_one_sign_attains_the_sum_of_magnitudes() -> None:
    made = kernels(10, 3, 3).abs()
    torch.testing.assert_close(component_gains(made), made.flatten(1).sum(dim=1), rtol=1e-9, atol=0)


@pytest.mark.parametrize("mode", PADDING_MODES)
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_is_never_below_the_convolution_itself(mode: str, stride: int) -> None:
    made = kernels(8, 3, 3, seed=stride)
    options = ConvolutionOptions(stride=stride, padding=1, padding_mode=mode)
    ratios = [
        norm_as_matrix(k, options, 9) / float(g) for k, g in zip(made, component_gains(made, options), strict=True)
    ]
    assert max(ratios) <= 1
    assert max(ratios) > (0.9 if mode == "zeros" or (mode, stride) == ("circular", 1) else 0.3)


def test_phases_of_a_stride_make_it_smaller() -> None:
    made = kernels(30, 3, 3)
    assert bool((component_gains(made, ConvolutionOptions(stride=2)) <= component_gains(made) * (1 + 1e-9)).all())
    one = component_gains(made, ConvolutionOptions(stride=3))
    torch.testing.assert_close(one, torch.ones(30, dtype=torch.float64), rtol=1e-9, atol=0)  # no two windows meet


def test_printed_form_is_the_unitary_transform() -> None:
    made = kernels(6, 3, 3)
    slow = torch.fft.fft2(made, s=(5, 8), norm="ortho").abs().flatten(1).amax(dim=1)
    torch.testing.assert_close(largest_frequencies(made, (5, 8)), slow)
    wrapped = made.sum(dim=(1, 2)).abs()  # on one pixel all taps fall together
    torch.testing.assert_close(largest_frequencies(made, (1, 1)), wrapped)
    assert float(largest_frequencies(made, (8, 8)).max()) < float(component_gains(made).max()) / math.sqrt(64) * 1.01


def test_no_kernels_have_no_gains() -> None:
    assert component_gains(torch.zeros(0, 3, 3)).shape == (0,)
