"""Matrix-Project and its Hadamard variant against matrices that are written out, and in expectation."""

from __future__ import annotations

import hashlib
import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import hadamard
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from netpact.algebra import projection
from netpact.algebra.hadamard import HadamardProjector, transform_hadamard
from netpact.algebra.projection import Projector, SignProjector
from netpact.algebra.stream import Stream
from netpact.core.errors import PactError

Array = NDArray[np.float64]
Matrix = NDArray[np.int64]
Make = type[SignProjector] | type[HadamardProjector]
each_variant = pytest.mark.parametrize("make", [SignProjector, HadamardProjector])
GOLDEN: dict[Make, str] = {SignProjector: "4290d0a48e1ebf0c", HadamardProjector: "6d0e277b5cb65a3f"}
SIZES = [(1, 1), (5, 3), (8, 8), (64, 17), (100, 9), (300, 300), (1000, 20)]


def build(make: Make, size: int, count: int, seed: int, layer: int) -> SignProjector | HadamardProjector:
    return make(size=size, count=count, seed=seed, layer=layer)


def written_out(projector: Projector) -> Matrix:
    """The matrices M_i as rows, by their definition and entry by entry."""
    size, count = projector.size, projector.count
    if isinstance(projector, SignProjector):
        signs = Stream(projector.seed, "projection signs", projector.layer).signs(0, size * (count + 8))
        rows = [[signs[8 * (i // 8 * size + j) + i % 8] for j in range(size)] for i in range(count)]
        return np.array(rows, dtype=np.int64)
    assert isinstance(projector, HadamardProjector)
    flips = Stream(projector.seed, "projection flips", projector.layer).signs(0, size)
    keys = Stream(projector.seed, "projection rows", projector.layer).keys(0, projector.order).tolist()
    chosen = sorted(sorted(range(projector.order), key=lambda row: (keys[row], row))[:count])
    full: Matrix = hadamard(projector.order, dtype=np.int64)
    return full[chosen, :size] * flips


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


@each_variant
@pytest.mark.parametrize(("size", "count"), SIZES)
def test_both_directions_are_those_of_the_written_matrices(make: Make, size: int, count: int) -> None:
    projector = build(make, size, count, 5, 2)
    matrices = written_out(projector)
    vectors = drawn(3, size)
    assert np.allclose(projector.measure(vectors), vectors @ matrices.T, rtol=0, atol=1e-10)
    symbols = np.random.default_rng(1).integers(-(10**9), 10**9, (3, count))
    assert projector.combine(symbols).dtype == np.float64
    assert projector.combine(symbols).tolist() == (symbols @ matrices).tolist()


@pytest.mark.parametrize(("block", "groups"), [(7, 1), (64, 128), (1000, 2), (1 << 20, 128)])
def test_blocks_do_not_matter(block: int, groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    projector = build(SignProjector, 300, 70, 1, 0)
    symbols = np.random.default_rng(2).integers(-(2**40), 2**40, (2, 70))
    vectors = drawn(2, 300)
    sums, products = projector.combine(symbols), projector.measure(vectors)
    monkeypatch.setattr(projection, "_BLOCK", block)
    monkeypatch.setattr(projection, "_MOST_GROUPS", groups)
    assert np.array_equal(projector.combine(symbols), sums)
    assert np.allclose(projector.measure(vectors), products, rtol=0, atol=1e-10)


@each_variant
def test_threads_do_not_matter(make: Make) -> None:
    """Large whole numbers, so that a sum that rounds anywhere would show."""
    projector = build(make, 40_000, 200, 1, 0)
    symbols = np.random.default_rng(3).integers(-(2**43), 2**43, (1, 200))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(projector.combine(symbols)[0].tolist())
    assert found[0] == found[1]
    total = int(symbols.astype(object).sum())
    assert max(abs(int(value)) for value in found[0]) > 2**44
    # Parity: a sum of signed numbers has that of their sum, which only exact arithmetic keeps.
    assert all((int(value) - total) % 2 == 0 for value in found[0])


def test_golden_sums() -> None:
    """What a file's symbols decode to is settled for ever."""
    symbols = (np.arange(40) * 37 % 101 - 50)[None]
    for make, digest in GOLDEN.items():
        sums = build(make, 1000, 40, 9, 4).combine(symbols)[0]
        assert hashlib.sha256(sums.astype("<f8").tobytes()).hexdigest()[:16] == digest


def test_the_transform_is_the_hadamard_matrix_exactly() -> None:
    for order in (1, 2, 32, 64, 128, 1024):
        values = np.random.default_rng(order).integers(-(2**39), 2**39, (2, order))
        expected = values.astype(object) @ hadamard(order).astype(object)
        assert transform_hadamard(values.astype(np.float64)).tolist() == expected.tolist()


def test_equal_keys_are_settled_by_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stream, "keys", lambda *_: np.array([7, 3, 7, 7, 1, 7, 9, 7], dtype=np.uint64))
    assert HadamardProjector(size=8, count=4, seed=0, layer=0).rows().tolist() == [0, 1, 2, 4]


def test_all_rows_give_the_vector_back() -> None:
    vector = drawn(1, 64)
    projector = build(HadamardProjector, 64, 64, 3, 0)
    assert np.allclose(projector.measure(vector) @ written_out(projector) / 64, vector, rtol=0, atol=1e-12)


def estimate(projector: Projector, vector: Array) -> Array:
    """A^ = (1/k) sum_i <A, M_i> M_i without rounding: expand the products in units of 2^-30."""
    products = np.rint(projector.measure(vector[None]) * 2**30).astype(np.int64)
    result: Array = projector.combine(products)[0] / 2**30 / projector.count
    return result


@each_variant
@pytest.mark.parametrize(("size", "count"), [(12, 5), (16, 16), (40, 10)])
def test_it_is_unbiased_with_the_stated_error(make: Make, size: int, count: int) -> None:
    """Over seeds: the mean is A, and E|A^ - A|^2 is (size - 1)/k for signs, (N/k - 1) less what is cut off."""
    trials = 800
    vector = drawn(size) / np.sqrt(size)
    errors = np.stack([estimate(build(make, size, count, seed, 0), vector) - vector for seed in range(trials)])
    deviations = errors.std(axis=0) / np.sqrt(trials)
    assert np.all(np.abs(errors.mean(axis=0)) <= 5 * deviations + 1e-8)
    squares = np.square(errors).sum(axis=1) / np.square(vector).sum()
    if make is SignProjector:
        assert squares.mean() == pytest.approx((size - 1) / count, rel=0.1)
    else:
        order = 1 << (size - 1).bit_length()
        # Without entries behind the vector there is nothing to cut off; otherwise about their share is.
        assert squares.mean() <= (order / count - 1) * 1.1 + 1e-12
        assert squares.mean() >= 0.5 * (order / count - 1)


@each_variant
def test_memory_is_bounded(make: Make) -> None:
    """512 x 512 x 3 x 3: the vector itself takes 18 MiB. Written out, 10,000 matrices would take 2.7 GiB as bits."""
    size = 512 * 512 * 9
    count = 10_000 if make is HadamardProjector else 24  # more of them only take longer
    projector = build(make, size, count, 0, 0)
    vector = np.ones((1, size))
    symbols = np.ones((1, count), dtype=np.int64)
    limit = 160 if make is HadamardProjector else 64  # MiB; an array of 2^22 numbers has 32
    for work in (lambda: projector.measure(vector), lambda: projector.combine(symbols)):
        tracemalloc.start()
        try:
            work()
            peak = tracemalloc.get_traced_memory()[1] / 2**20
        finally:
            tracemalloc.stop()
        assert peak < limit


@each_variant
@pytest.mark.parametrize("large", [2**53 - 1, -(2**63)])
def test_sums_that_could_round_are_refused(make: Make, large: int) -> None:
    projector = build(make, 4, 2, 0, 0)
    with pytest.raises(PactError, match=r"coefficients: the magnitudes .* below 2\^53"):
        projector.combine(np.array([[0, 1], [large, 1]]))
    projector.combine(np.array([[2 - 2**53, 1]]))


@each_variant
def test_sizes_that_are_none(make: Make) -> None:
    with pytest.raises(PactError, match="size: must be an integer >= 1"):
        build(make, 0, 1, 0, 0)
    with pytest.raises(PactError, match="count: must be an integer"):
        build(make, 5, 0, 0, 0)
    with pytest.raises(PactError, match="count: must be an integer from 1 to 8, got 9"):
        build(HadamardProjector, 5, 9, 0, 0)
