"""CP decomposition by alternating least squares: fit, conventions, and what is reported."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

import netpact
from netpact import PactError, Seed, cp_decompose
from netpact.algebra import ALSOptions, CPDecomposition
from netpact.algebra.cp_als import LeastSquares, unit_columns
from netpact.algebra.mttkrp import sweep_modes
from netpact.algebra.tensors import khatri_rao_blocks

LETTERS = "abcdefg"
SHAPES = [(6, 7), (6, 5, 4), (5, 6, 3, 3), (4, 3, 5, 2, 3)]


def random_tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def dense(factors: list[Tensor]) -> Tensor:
    """The obvious sum of outer products."""
    modes = LETTERS[: len(factors)]
    return torch.einsum(",".join(f"{mode}r" for mode in modes) + f"->{modes}", *factors)


def low_rank(shape: tuple[int, ...], rank: int, seed: int = 0) -> Tensor:
    return dense([random_tensor(size, rank, seed=seed + mode) for mode, size in enumerate(shape)])


def border_rank_two() -> Tensor:
    """a a b + a b a + b a a: of rank 3, and as near to tensors of rank 2 as one likes (de Silva and Lim 2008)."""
    tensor = torch.zeros(2, 2, 2, dtype=torch.float64)
    tensor[0, 0, 1] = tensor[0, 1, 0] = tensor[1, 0, 0] = 1
    return tensor


def distance(found: CPDecomposition, tensor: Tensor) -> float:
    weighted = [found.factors[0] * found.weights, *found.factors[1:]]
    return float((dense(weighted).reshape(tensor.shape) - tensor).norm() / tensor.norm())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_exactly_low_rank_tensors_are_found(shape: tuple[int, ...]) -> None:
    tensor = low_rank(shape, 3)
    found = cp_decompose(tensor, 3)
    assert found.relative_error < 1e-10
    assert distance(found, tensor) == pytest.approx(found.relative_error, abs=1e-14)
    assert torch.allclose(found.to_dense(), tensor)
    assert found.converged
    assert found.parameters == 3 * (sum(shape) + 1)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_spectrum_is_positive_and_sorted_and_columns_are_unit(shape: tuple[int, ...]) -> None:
    found = cp_decompose(-random_tensor(*shape), 4, options=ALSOptions(sweeps=5, starts=1))
    assert (found.weights > 0).all()
    assert (found.weights.diff() <= 0).all()
    for factor in found.factors:
        assert torch.allclose(factor.norm(dim=0), torch.ones(4, dtype=torch.float64))


@pytest.mark.parametrize("shape", [*SHAPES, (2, 40, 3), (40, 2, 2, 2)], ids=str)
@pytest.mark.parametrize("rank", [1, 3, 9])
def test_error_never_rises(shape: tuple[int, ...], rank: int) -> None:
    """At rank 9 most of these least-squares problems are singular."""
    found = cp_decompose(random_tensor(*shape), rank, options=ALSOptions(sweeps=60, tolerance=0, starts=2))
    errors = np.array(found.errors)
    assert (np.diff(errors) <= 1e-9).all()
    assert found.errors[-1] == pytest.approx(found.relative_error, abs=1e-7)


@pytest.mark.parametrize("shape", [*SHAPES, (2, 40, 3), (3, 2, 30), (2, 3, 2, 2, 3, 2)], ids=str)
def test_products_of_a_sweep_are_those_of_the_obvious_sum(shape: tuple[int, ...]) -> None:
    tensor = random_tensor(*shape)
    factors = [random_tensor(size, 4, seed=mode) for mode, size in enumerate(shape)]
    modes, seen = LETTERS[: len(shape)], list[int]()

    def check(mode: int, product: Tensor) -> None:
        others = [(name, factor) for name, factor in zip(modes, factors, strict=True) if name != modes[mode]]
        rule = f"{modes},{','.join(f'{name}r' for name, _ in others)}->{modes[mode]}r"
        assert torch.allclose(product, torch.einsum(rule, tensor, *(factor for _, factor in others)))
        factors[mode] = random_tensor(shape[mode], 4, seed=99 + mode)  # the later modes must see the new factor
        seen.append(mode)

    sweep_modes(tensor, factors, check)
    assert seen == list(range(len(shape)))


def test_khatri_rao_product_comes_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    factors = [random_tensor(size, 2, seed=size) for size in (5, 3, 4)]
    monkeypatch.setattr("netpact.algebra.tensors._BLOCK", 50)
    blocks = list(khatri_rao_blocks(factors))
    assert [(rows.start, rows.stop) for rows, _ in blocks] == [(0, 24), (24, 48), (48, 60)]
    whole = torch.einsum("ar,br,cr->abcr", *factors).reshape(60, 2)
    assert torch.allclose(torch.cat([block for _, block in blocks]), whole)


def test_a_ridge_neither_raises_the_error_nor_keeps_it_up() -> None:
    """Singular problems get a ridge; here it is made strong. The error is taken from the tensor itself."""
    tensor = low_rank((5, 4, 3), 2)
    factors = [unit_columns(random_tensor(size, 6, seed=mode))[0] for mode, size in enumerate(tensor.shape)]
    solver, errors = LeastSquares(factors, precision=0.02), list[float]()
    for _ in range(100):
        sweep_modes(tensor, factors, solver)
        errors.append(float((dense([*factors[:-1], factors[-1] * solver.weights]) - tensor).norm() / tensor.norm()))
    assert (np.diff(errors) <= 1e-12).all()
    assert errors[-1] < 0.01


def test_merged_kernels() -> None:
    kernel = random_tensor(8, 6, 3, 2)
    found = cp_decompose(kernel, 5, merge_spatial=True)
    assert found.kernels.shape == (5, 3, 2)
    assert torch.allclose(found.kernels.flatten(1).norm(dim=1), torch.ones(5, dtype=torch.float64))
    again = torch.einsum("r,or,ir,rxy->oixy", found.weights, *found.factors[:2], found.kernels)
    assert torch.allclose(found.to_dense(), again)
    assert float((again - kernel).norm() / kernel.norm()) == pytest.approx(found.relative_error)
    with pytest.raises(PactError, match="merge_spatial"):
        _ = cp_decompose(kernel, 1).kernels


def test_a_matrix_gets_its_best_approximation() -> None:
    matrix = random_tensor(9, 7)
    found = cp_decompose(matrix, 3)
    assert torch.allclose(found.weights, torch.linalg.svdvals(matrix)[:3])


def test_degenerate_example_is_reported() -> None:
    found = cp_decompose(border_rank_two(), 2)
    assert found.degenerate
    assert not found.converged
    assert found.collinearity > 0.8
    assert "degenerate" in repr(found)
    longer = cp_decompose(border_rank_two(), 2, options=ALSOptions(sweeps=800))
    assert longer.cancellation > found.cancellation
    assert not cp_decompose(border_rank_two(), 3).degenerate


def test_three_components_may_cancel_with_no_two_opposite() -> None:
    turns = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64) * (2 * math.pi / 3)
    fan = torch.stack([turns.cos(), turns.sin()])
    weights = torch.tensor([1.1, 1.0, 1.0], dtype=torch.float64)  # what is left of them: 0.1
    found = CPDecomposition(weights, (fan, torch.ones(1, 3, dtype=torch.float64)), (2, 1), 0.0)
    assert found.collinearity == pytest.approx(0.5)
    assert found.cancellation == pytest.approx(math.sqrt(3.21) / 0.1)
    assert found.degenerate


def test_components_under_noise_are_not_degenerate() -> None:
    found = cp_decompose(low_rank((12, 10, 9), 6) + 0.1 * random_tensor(12, 10, 9), 6)
    assert not found.degenerate
    assert found.cancellation == pytest.approx(float(found.weights.norm() / found.to_dense().norm()))


def test_orthogonal_sweeps_find_orthogonal_components() -> None:
    """Components of one weight: singular vectors of unfoldings say nothing, random starts let components collapse."""
    tensor = dense([torch.linalg.qr(random_tensor(12, 8, seed=mode)).Q for mode in range(3)])
    options = ALSOptions(sweeps=40, starts=1, orthogonal_sweeps=10)
    found = cp_decompose(tensor, 8, options=options)
    assert found.relative_error < 1e-8
    assert len(found.errors) == found.sweeps - 10
    assert found.weights.tolist() == pytest.approx([1.0] * 8)


def test_orthogonal_sweeps_take_modes_shorter_than_the_rank() -> None:
    found = cp_decompose(random_tensor(9, 8, 3), 5, options=ALSOptions(orthogonal_sweeps=3))
    assert math.isfinite(found.relative_error)
    assert (np.diff(found.errors) <= 1e-9).all()


def test_seed_decides() -> None:
    options = ALSOptions(sweeps=10, starts=2)
    tensor = random_tensor(4, 4, 4)
    one, same, other = (cp_decompose(tensor, 6, options=options, seed=Seed(seed)) for seed in (1, 1, 2))
    assert torch.equal(one.weights, same.weights)
    assert not torch.equal(one.weights, other.weights)


def test_number_of_threads_changes_rounding_only() -> None:
    tensor = low_rank((40, 30, 20), 4) + random_tensor(40, 30, 20)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(cp_decompose(tensor, 4, options=ALSOptions(starts=1)))
    finally:
        torch.set_num_threads(before)
    assert torch.allclose(found[0].to_dense(), found[1].to_dense(), rtol=1e-6, atol=1e-8)


def test_best_of_the_starts_is_kept() -> None:
    tensor = random_tensor(5, 5, 5)
    errors = [cp_decompose(tensor, 4, options=ALSOptions(sweeps=30, starts=n)).relative_error for n in (1, 2, 8)]
    assert errors == sorted(errors, reverse=True)
    assert errors[2] < errors[0]


def test_single_precision_stays_for_large_tensors() -> None:
    large = low_rank((64, 64, 20), 3).float()
    found = cp_decompose(large.numpy(), 3)
    assert found.weights.dtype == found.factors[0].dtype == torch.float32
    assert found.relative_error < 1e-5
    assert cp_decompose(large[:8], 3).weights.dtype == torch.float64


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_scale_does_not_matter(scale: float) -> None:
    tensor = random_tensor(5, 4, 3)
    plain, scaled = (cp_decompose(factor * tensor, 2) for factor in (1.0, scale))
    assert torch.allclose(scaled.weights / scale, plain.weights, rtol=1e-6)


def test_any_layout_of_numpy_is_taken() -> None:
    array = random_tensor(4, 3, 5).numpy()
    plain = cp_decompose(array, 2).weights
    read_only = array.copy()
    read_only.setflags(write=False)
    for other in (read_only, array[::-1], array.astype(">f8")):
        assert torch.allclose(cp_decompose(other, 2).weights, plain, rtol=1e-3)


def test_error_never_rises_in_single_precision() -> None:
    tensor = random_tensor(64, 64, 20).float()
    found = cp_decompose(tensor, 100, options=ALSOptions(sweeps=25, tolerance=0, starts=1))
    assert found.weights.dtype == torch.float32
    assert (np.diff(found.errors) <= 1e-6).all()


def test_zero_tensor_has_no_components() -> None:
    found = cp_decompose(torch.zeros(3, 4, 5), 2)
    assert (found.rank, found.relative_error, found.degenerate) == (0, 0.0, False)
    assert torch.equal(found.to_dense(), torch.zeros(3, 4, 5, dtype=torch.float64))


def test_components_of_weight_zero_are_dropped() -> None:
    found = cp_decompose(torch.diag(torch.tensor([2.0, 0.0, 0.0])), 2)
    assert found.weights.tolist() == pytest.approx([2.0])
    assert [factor.shape for factor in found.factors] == [(3, 1), (3, 1)]


def test_progress_ends_at_its_total() -> None:
    seen: list[tuple[int, int]] = []
    cp_decompose(
        random_tensor(3, 3, 3),
        2,
        options=ALSOptions(sweeps=5, starts=2),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[0] == (1, 10)
    assert seen[-1] == (10, 10)
    assert seen == sorted(seen)
    cp_decompose(
        torch.ones(3, 3), 1, progress=lambda done, total: seen.append((done, total))
    )  # ends in the first start
    assert seen[-1] == (600, 600)


@pytest.mark.parametrize(
    ("tensor", "rank", "text"),
    [
        (torch.ones(3), 1, "at least 2 modes"),
        (torch.ones(3, 0, 2), 1, "entries"),
        (torch.full((2, 2), math.nan), 1, "NaN"),
        (torch.ones(2, 2), 0, "must be an integer >= 1, got 0"),
        (torch.ones(2, 2), True, "must be an integer"),
        (torch.ones(2, 2, dtype=torch.int64), 1, "floating-point"),
        ([[1.0]], 1, "got list"),
        (np.array(["a"]), 1, "floating-point"),
    ],
)
def test_bad_input_is_refused(tensor: Tensor, rank: int, text: str) -> None:
    with pytest.raises(PactError, match=text):
        netpact.cp_decompose(tensor, rank)


def test_bad_options_are_refused() -> None:
    with pytest.raises(PactError, match="sweeps"):
        ALSOptions(sweeps=0)
    with pytest.raises(PactError, match="tolerance"):
        ALSOptions(tolerance=-1.0)
    with pytest.raises(PactError, match="orthogonal_sweeps"):
        ALSOptions(sweeps=5, orthogonal_sweeps=5)
    with pytest.raises(PactError, match="at least 3 modes"):
        cp_decompose(torch.ones(2, 2), 1, merge_spatial=True)
    with pytest.raises(PactError, match="seed: must be a Seed, got int"):
        cp_decompose(torch.ones(2, 2), 1, seed=3)  # type: ignore[arg-type]


def test_more_components_than_entries_are_refused_before_memory_is_taken() -> None:
    with pytest.raises(PactError, match=r"rank: must be an integer from 1 to 60, got 1000000000"):
        cp_decompose(random_tensor(3, 4, 5), 10**9)
    assert cp_decompose(random_tensor(2, 2, 2), 8, options=ALSOptions(sweeps=3, starts=1)).rank <= 8
