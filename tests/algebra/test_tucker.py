"""Tucker decompositions by higher-order orthogonal iteration."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

from netpact import PactError
from netpact.algebra import tucker_decompose

CASES = [((6, 7), (3, 3)), ((6, 5, 4), (2, 3, 2)), ((5, 6, 3, 3), (3, 4, 2, 2)), ((4, 3, 5, 2, 3), (2, 2, 3, 2, 2))]


def random_tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def dense(core: Tensor, factors: list[Tensor]) -> Tensor:
    small, large = "abcde"[: core.dim()], "vwxyz"[: core.dim()]
    rule = f"{small},{','.join(f'{b}{a}' for a, b in zip(small, large, strict=True))}->{large}"
    return torch.einsum(rule, core, *factors)


@pytest.mark.parametrize(("shape", "ranks"), CASES)
def test_tensors_of_these_ranks_are_found(shape: tuple[int, ...], ranks: tuple[int, ...]) -> None:
    factors = [random_tensor(*sizes, seed=mode) for mode, sizes in enumerate(zip(shape, ranks, strict=True))]
    tensor = dense(random_tensor(*ranks, seed=9), factors)
    found = tucker_decompose(tensor, ranks)
    assert found.relative_error < 1e-13
    assert torch.allclose(dense(found.core, list(found.factors)), tensor)
    assert torch.allclose(found.to_dense(), tensor)
    assert found.ranks == ranks
    assert found.parameters == math.prod(ranks) + sum(size * rank for size, rank in zip(shape, ranks, strict=True))


@pytest.mark.parametrize(("shape", "ranks"), CASES)
def test_never_worse_than_the_start(shape: tuple[int, ...], ranks: tuple[int, ...]) -> None:
    tensor = random_tensor(*shape)
    start = tucker_decompose(tensor, ranks, sweeps=0)
    found = tucker_decompose(tensor, ranks)
    assert (start.sweeps, start.converged) == (0, False)
    assert (np.diff(found.errors) <= 1e-12).all()
    assert found.errors[0] == pytest.approx(start.relative_error)
    assert found.errors[-1] == pytest.approx(found.relative_error)
    assert float((found.to_dense() - tensor).norm() / tensor.norm()) == pytest.approx(found.relative_error)
    assert found.converged
    if len(shape) > 2:  # a matrix is at its best from the start
        assert found.relative_error < start.relative_error - 1e-4
    for factor in found.factors:
        assert torch.allclose(factor.T @ factor, torch.eye(factor.shape[1], dtype=torch.float64))


def test_start_is_the_truncated_hosvd() -> None:
    tensor = random_tensor(5, 4, 3)
    for mode, factor in enumerate(tucker_decompose(tensor, (2, 2, 2), sweeps=0).factors):
        vectors = np.linalg.svd(np.moveaxis(tensor.numpy(), mode, 0).reshape(tensor.shape[mode], -1))[0][:, :2]
        assert np.allclose(vectors @ vectors.T, (factor @ factor.T).numpy())


def test_reaches_what_a_general_optimiser_finds() -> None:
    """Rank (1, 1, 1) of a 3 x 3 x 3 tensor: the best of many searches over the three vectors."""
    tensor = random_tensor(3, 3, 3, seed=4).numpy()

    def minus_core(vectors: np.ndarray) -> float:
        unit = [vector / np.linalg.norm(vector) for vector in vectors.reshape(3, 3)]
        return -float(np.einsum("ijk,i,j,k", tensor, *unit))

    random = np.random.default_rng(0)
    best = -min(minimize(minus_core, random.standard_normal(9)).fun for _ in range(20))
    found = tucker_decompose(tensor, (1, 1, 1), tolerance=0.0, sweeps=500)
    assert abs(float(found.core)) == pytest.approx(best, rel=1e-6)


def test_single_precision_scale_and_zero() -> None:
    large = random_tensor(64, 64, 20).float()
    assert tucker_decompose(large, (4, 4, 4), sweeps=1).core.dtype == torch.float32
    plain, scaled = (tucker_decompose(scale * random_tensor(4, 4, 4), (2, 2, 2)).core for scale in (1.0, 1e-300))
    assert torch.allclose(scaled.abs() * 1e300, plain.abs())
    zero = tucker_decompose(torch.zeros(3, 3, 3), (2, 2, 2))
    assert zero.relative_error == 0
    assert not zero.to_dense().any()


def test_progress() -> None:
    seen: list[tuple[int, int]] = []
    tucker_decompose(
        random_tensor(4, 4, 4),
        (2, 2, 2),
        sweeps=3,
        tolerance=0,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        ((2, 2), "3 integers, one for each mode"),
        ("222", "3 integers"),
        ((2, 2, 0), r"ranks\[2\]: must be an integer from 1 to 3, got 0"),
        ((2, 2, 4), r"ranks\[2\]: must be an integer from 1 to 3, got 4"),
        ((5, 2, 2), "product of the other ranks, 4, got 5"),
        ((1.0, 1, 1), "must be an integer"),
    ],
)
def test_wrong_ranks_are_refused(ranks: tuple[int, ...], text: str) -> None:
    with pytest.raises(PactError, match=text):
        tucker_decompose(random_tensor(5, 4, 3), ranks)


def test_bad_input_is_refused() -> None:
    with pytest.raises(PactError, match="NaN"):
        tucker_decompose(torch.full((2, 2), math.nan), (1, 1))
    with pytest.raises(PactError, match="sweeps"):
        tucker_decompose(torch.ones(2, 2), (1, 1), sweeps=-1)
