"""Lemma 1 as a law, energy by brute force, and the tolerance of Theorem 2.2 against networks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from netpact.algebra.singular_values import decompose, theorem22_tolerance
from netpact.core.errors import PactError

Array = NDArray[np.float64]


def with_spectrum(values: list[float], *, rows: int = 9, columns: int = 7, seed: int = 0) -> Array:
    random = np.random.default_rng(seed)
    left = np.linalg.qr(random.standard_normal((rows, len(values))))[0]
    right = np.linalg.qr(random.standard_normal((columns, len(values))))[0]
    return (left * np.array(values)) @ right.T


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    rows=st.integers(1, 12),
    columns=st.integers(1, 12),
    decay=st.floats(0.0, 3.0),
    tolerance=st.floats(1e-3, 1.0),
    exponent=st.sampled_from([-300, -60, 0, 60, 300]),
    seed=st.integers(0, 2**20),
)
def test_lemma_1(rows: int, columns: int, decay: float, tolerance: float, exponent: int, seed: int) -> None:
    spectrum = [float(2.0**exponent * (1 + k) ** -decay) for k in range(min(rows, columns))]
    matrix = with_spectrum(spectrum, rows=rows, columns=columns, seed=seed)
    found = decompose(matrix)
    kept = found.truncate(found.rank_for_tolerance(tolerance))
    # Norms by numpy, of the matrices themselves, in units that do not overflow.
    unit = 2.0**-exponent
    spectral = np.linalg.norm(matrix * unit, 2)
    assert np.linalg.norm((kept.matrix() - matrix) * unit, 2) <= tolerance * spectral * (1 + 1e-9) + 1e-12 * spectral
    most = np.linalg.norm(matrix * unit) ** 2 / (tolerance**2 * spectral**2)
    assert len(kept.values) <= most * (1 + 1e-9)
    assert found.lemma1_rank(tolerance) == pytest.approx(most)
    assert 1 <= len(kept.values) == np.linalg.matrix_rank(kept.matrix() * unit)


def test_smaller_than_the_tolerance_is_removed_and_equal_is_kept() -> None:
    found = decompose(np.diag([8.0, 4.0, 2.0, 1.0]))
    assert [found.rank_for_tolerance(t) for t in (1.0, 0.51, 0.5, 0.49, 0.125, 0.01)] == [1, 1, 2, 2, 4, 4]


@pytest.mark.parametrize("energy", [0.01, 0.3, 0.8, 0.95, 0.999, 1.0])
def test_energy_by_brute_force(energy: float) -> None:
    matrix = with_spectrum([5.0, 3.0, 2.0, 1.0, 0.2])
    found = decompose(matrix)
    rank = found.rank_for_energy(energy)
    total = np.square(matrix).sum()
    shares = [np.square(found.truncate(r).matrix()).sum() / total for r in range(8)]
    assert shares[rank] >= energy - 1e-12
    assert rank == 0 or shares[rank - 1] < energy
    assert decompose(matrix * 2.0**-600).rank_for_energy(energy) == rank


def test_a_matrix_of_zeros_has_rank_0() -> None:
    found = decompose(np.zeros((3, 2)))
    assert found.rank_for_tolerance(0.5) == found.rank_for_energy(0.9) == 0
    assert found.lemma1_rank(0.5) == 0


def test_bad_matrices() -> None:
    for bad in (np.zeros((0, 3)), np.zeros(4), np.zeros((1, 2, 2))):
        with pytest.raises(PactError, match="a matrix with entries"):
            decompose(bad)
    with pytest.raises(PactError, match="NaN"):
        decompose(np.array([[1.0, np.nan]]))


def test_theorem_22_without_biases_is_the_printed_form_over_sqrt_2() -> None:
    found = theorem22_tolerance(margin=0.1, input_norm=3.0, norms=[2.0, 5.0, 0.5], biases=[0.0, 0.0, 0.0])
    assert found == pytest.approx(0.1 / (math.sqrt(2) * math.e * 3.0 * 3 * (2.0 * 5.0 * 0.5)))
    assert theorem22_tolerance(margin=1e9, input_norm=3.0, norms=[2.0, 5.0], biases=[0.0, 1.0]) == 1 / 2
    assert theorem22_tolerance(margin=1.0, input_norm=1.0, norms=[0.0], biases=[1.0]) == 1.0


def run(layers: list[tuple[Array, Array]], x: Array) -> Array:
    for place, (matrix, bias) in enumerate(layers):
        x = matrix @ (np.maximum(x, 0) if place else x) + bias
    return x


def worst_change(*, bias_size: float, factor: float) -> float:
    """The largest |f - g|_2 * sqrt(2) / margin over networks that lose as much as their tolerance allows."""
    worst = 0.0
    for seed in range(60):
        random = np.random.default_rng(seed)
        # Nearly aligned layers: what one loses is not hidden by the next.
        matrices = [np.abs(random.standard_normal((6, 6))) for _ in range(3)]
        biases = [bias_size * np.abs(random.standard_normal(6)) for _ in range(3)]
        x = np.abs(random.standard_normal(6))
        margin = 0.2 * float(np.linalg.norm(run(list(zip(matrices, biases, strict=True)), x)))
        norms = [float(np.linalg.norm(m, 2)) for m in matrices]
        offsets = [float(np.linalg.norm(b)) for b in biases]
        length = float(np.linalg.norm(x))
        tolerance = factor * theorem22_tolerance(margin=margin, input_norm=length, norms=norms, biases=offsets)
        lost = [m * (1 - tolerance) for m in matrices]  # |A - A^|_2 = tolerance |A|_2
        change = run(list(zip(matrices, biases, strict=True)), x) - run(list(zip(lost, biases, strict=True)), x)
        worst = max(worst, math.sqrt(2) * float(np.linalg.norm(change)) / margin)
    return worst


@pytest.mark.parametrize("bias_size", [0.0, 3.0])
def test_theorem_22_keeps_the_margin_with_and_without_biases(bias_size: float) -> None:
    assert worst_change(bias_size=bias_size, factor=1.0) <= 1
    # The bound is not slack by more than e and what is not aligned.
    assert worst_change(bias_size=bias_size, factor=8.0) > 1


def test_the_printed_form_ignores_biases() -> None:
    """f(x) = A (x + b) with a tiny x: printed, the tolerance grows without end and the change exceeds the margin."""
    matrix, bias, x = np.eye(2), np.array([1.0, 0.0]), np.array([1e-3, 0.0])
    margin, norms = 0.01, [1.0, 1.0]
    printed = margin / (math.e * 1e-3 * 2)
    ours = theorem22_tolerance(margin=margin, input_norm=1e-3, norms=norms, biases=[1.0, 0.0])
    layers = [(matrix, bias), (matrix, np.zeros(2))]
    for tolerance, holds in ((min(printed, 0.5), False), (ours, True)):
        lost = [(m * (1 - tolerance), b) for m, b in layers]
        assert bool(np.linalg.norm(run(layers, x) - run(lost, x)) <= margin) is holds


def test_a_margin_needs_sqrt_2() -> None:
    """Logits that move by gamma in the l2 norm can move a margin by sqrt(2) gamma."""
    f = np.array([1.2, 0.0])
    g = f + np.array([-1.0, 1.0]) / math.sqrt(2)
    assert np.linalg.norm(f - g) == pytest.approx(1)
    assert f[0] - f[1] > 1
    assert g[0] < g[1]
