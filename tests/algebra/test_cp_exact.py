"""Exact CP forms: exact to float precision, with the rank of Li et al. 2020, Proposition 4.1."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from netpact import PactError
from netpact.algebra import polyadic_form


def random_kernel(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize(
    ("shape", "rank"),
    [
        ((12, 10, 3, 3), 10 * 9),  # ten singular values at each of nine places; there are 120 kernels
        ((5, 12, 1, 1), 5),
        ((4, 3, 5, 5), 4 * 3),  # fewer kernels than singular values: 3 * 25
        ((16, 1, 3, 3), 9),  # depthwise: nine slices of rank 1, sixteen kernels
        ((7, 9), 7),
        ((6, 4, 3), 12),
        ((3, 4, 2, 2, 2), 12),
    ],
)
def test_forms_are_exact_and_of_the_stated_rank(shape: tuple[int, ...], rank: int) -> None:
    kernel = random_kernel(*shape)
    form = polyadic_form(kernel)
    spatial = math.prod(shape[2:])
    assert form.rank == rank <= min(shape[0] * shape[1], shape[0] * spatial, shape[1] * spatial)
    assert torch.allclose(form.to_dense(), kernel, rtol=0, atol=1e-13)
    assert form.relative_error < 1e-14
    assert (form.weights > 0).all()
    assert (form.weights.diff() <= 0).all()
    for factor in form.factors:
        assert torch.allclose(factor.norm(dim=0), torch.ones(rank, dtype=torch.float64))
    assert len(form.factors) == min(3, len(shape))


def test_a_matrix_has_its_singular_values() -> None:
    matrix = random_kernel(7, 9)
    assert torch.allclose(polyadic_form(matrix).weights, torch.linalg.svdvals(matrix))


def test_components_at_rounding_level_are_left_out() -> None:
    kernel = torch.einsum("or,ir,rxy->oixy", random_kernel(20, 2), random_kernel(30, 2), random_kernel(2, 3, 3))
    form = polyadic_form(kernel)
    assert form.rank == 2 * 9
    assert form.relative_error < 1e-14


def test_kernels_that_are_zero_are_left_out() -> None:
    kernel = random_kernel(4, 3, 5, 5)
    kernel[1, 2] = 0
    form = polyadic_form(kernel)
    assert form.rank == 11
    assert form.relative_error < 1e-14
    empty = polyadic_form(torch.zeros(4, 3, 5, 5))
    assert empty.rank == 0
    assert torch.equal(empty.to_dense(), torch.zeros(4, 3, 5, 5, dtype=torch.float64))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_scale_and_numpy(scale: float) -> None:
    kernel = scale * random_kernel(4, 3, 2, 2).numpy()
    assert np.allclose(polyadic_form(kernel).to_dense().numpy() / scale, kernel / scale, atol=1e-13)


def test_bad_input_is_refused() -> None:
    with pytest.raises(PactError, match="at least 2 modes"):
        polyadic_form(torch.ones(4))
    with pytest.raises(PactError, match="NaN"):
        polyadic_form(torch.full((2, 2), math.inf))
