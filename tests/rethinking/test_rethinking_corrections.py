"""Where printed statements of "Rethinking compressed CNNs" (2021) do not hold: docs/papers/rethinking.md."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netpact
from netpact.core.errors import PactError
from netpact.papers.rethinking.presets import LINES, NUMBERS, TUCKER, name_line
from netpact.papers.rethinking.simulation.families import CP
from netpact.papers.rethinking.simulation.geometry import Geometry
from netpact.papers.rethinking.simulation.truths import draw_truth
from netpact.papers.rethinking.statistics import Conditions, InputCovariance, Isometry, Window, positioning_factors
from netpact.papers.rethinking.statistics.theorems import net_exponent

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers" / "rethinking.md"


def test_assumption_4_c2_cannot_be_met() -> None:
    """H = E phi''(<z, W*>) z z' with phi'' <= 1/4 is at most kappa_U / 4, and kappa_0 > kappa_U is asked for."""
    rng = np.random.default_rng(0)
    for size in (0.0, 0.5, 3.0):
        mixing = rng.standard_normal((5, 5))
        z = rng.standard_normal((20_000, 5)) @ mixing.T
        eta = z @ (size * rng.standard_normal(5))
        curvature = 1 / (2 + np.exp(-eta) + np.exp(eta))
        hessian = (z * curvature[:, None]).T @ z / len(z)
        largest = np.linalg.eigvalsh(z.T @ z / len(z))[-1]
        assert curvature.max() <= 0.25
        assert np.linalg.eigvalsh(hessian)[-1] <= largest / 4
    assert np.linalg.eigvalsh(hessian)[0] < largest, "no kappa_0 above kappa_U"
    found = netpact.estimation_error(
        netpact.model_complexity("cnn", kernel=(2,), pooled=(2,), kernels=1, task="binary"),
        Conditions(isometry=Isometry(1.0, 1.0), inputs=InputCovariance.independent(), curvature=0.1),
        samples=100,
    )
    assert [one.holds for one in found.premises if "(C2)" in one.text] == [False]


def test_assumption_3_fails_in_the_papers_tucker_settings() -> None:
    cases = LINES["full"].cases
    for number in NUMBERS:
        plain, tucker = (cases[name_line(number, kind)].geometry for kind in ("plain", TUCKER))
        assert plain.isometry.least > 0
        assert tucker.isometry.least == 0
        assert tucker.coordinates < math.prod(tucker.kernel) * tucker.places
        with pytest.raises(PactError, match="c_u = 0"):
            Conditions(isometry=tucker.isometry, inputs=InputCovariance.independent(), noise_std=1.0)


@pytest.mark.parametrize(
    ("size", "kernel", "pooling", "columns", "rank"),
    [
        (10, 3, 1, 24, 10),  # stride 1 without pooling: more columns than rows
        (10, 5, 3, 10, 8),  # as many as rows, and two of them twice: the first Tucker setting
        (12, 7, 3, 14, 10),  # the third
    ],
)
def test_full_column_rank_does_not_always_hold(size: int, kernel: int, pooling: int, columns: int, rank: int) -> None:
    """Section 2.2: "They have full column ranks given that p_j l_j <= d_j always holds"."""
    (factor,) = positioning_factors((size,), [Window(kernel=(kernel,), pooling=pooling)])
    assert factor.shape == (size, columns)
    assert np.linalg.matrix_rank(factor) == rank < columns


def test_a_kernel_within_the_pooling_stride_has_full_rank() -> None:
    """The condition to design by: no box of a pooling window begins where one of another does."""
    for kernel in range(1, 5):
        for pooling in range(kernel, 6):
            size = kernel + 3 * pooling - 1
            (factor,) = positioning_factors((size,), [Window(kernel=(kernel,), pooling=pooling)])
            assert np.linalg.matrix_rank(factor) == factor.shape[1] == 3 * kernel


def test_the_spectral_density_lacks_a_factor_2_pi() -> None:
    """f(theta) = 1 / (2 pi) sum of covariances: of independent standard normal inputs it is 1 / (2 pi), Sigma is I."""
    density = np.eye(3) / (2 * math.pi)
    as_printed = np.linalg.eigvalsh(density)[-1]
    sigma = InputCovariance.from_var(np.zeros((3, 3)))
    assert sigma.least == sigma.largest == 1.0
    assert as_printed < 0.16, "so Sigma <= C_x I fails with C_x as printed"


def test_part_c_as_printed_does_not_follow_from_part_a() -> None:
    """(sqrt(d / n) + sqrt(slack / n))^2 is not d / n + slack / n."""
    model = netpact.model_complexity("cnn", kernel=(3,), pooled=(4,), kernels=2)
    conditions = Conditions(
        isometry=Isometry(1.0, 1.0), inputs=InputCovariance.independent(), noise_std=1.0, slack=float(int(model))
    )
    found = netpact.estimation_error(model, conditions, samples=1000)
    factor = 16 * conditions.smoothness / conditions.strong_convexity
    printed = factor**2 * (int(model) / 1000 + conditions.slack / 1000) + 1
    assert found.test is not None
    assert found.test**2 > printed
    assert (found.test**2 - 1) / (printed - 1) == pytest.approx(4 / 3)


def test_the_net_of_theorem_2_is_too_coarse() -> None:
    """(14), (15) take epsilon = 1/2, and divide by 1 - 5 epsilon = -3/2. At Lemma 2's 1/10, 3 c_N d is too little."""
    assert 1 - 5 * 0.5 < 0
    for order in range(1, 7):
        model = netpact.model_complexity("cp", kernel=(3,) * order, pooled=(2,) * order, ranks=2)
        needed = 2 ** (order + 1) * int(model) * math.log(3 * (order + 2) / 0.1)
        printed = net_exponent(model, as_printed=True)
        assert printed == pytest.approx(3 * 2 ** (order + 1) * math.log(order + 2) * int(model))
        assert (printed < needed) is (order <= 3)
        assert net_exponent(model) == pytest.approx(max(needed, printed))


def test_lemma_2_takes_a_bilinear_form_for_a_quadratic_one() -> None:
    """sup u'Av = sup u'Au holds on a sphere, not on its matrices of rank 2: here 1 against 1/2."""

    def form(u: Any, v: Any) -> float:
        return float((np.trace(u) * np.trace(v) - np.trace(u @ v)) / 2)

    rng = np.random.default_rng(0)
    squares = []
    for _ in range(2000):
        u = rng.standard_normal((4, 2)) @ rng.standard_normal((2, 4))
        squares.append(abs(form(u, u)) / np.linalg.norm(u) ** 2)
    assert max(squares) <= 0.5, "the product of two eigenvalues"
    left, right = np.diag([1.0, 1, 0, 0]) / math.sqrt(2), np.diag([0, 0, 1.0, 1]) / math.sqrt(2)
    assert form(left, left) == pytest.approx(0.5)
    assert form(left, right) == pytest.approx(1.0)


def test_lemma_1_a_has_no_tucker_version() -> None:
    """Theorem 2 splits tensors of Tucker ranks 4R into two of ranks 2R, "similar" to matrices: there are not enough.

    Of 4 x 4 x 4 tensors, with 2R = 2: sums of two of ranks (2, 2, 2) are a set of 40 dimensions, of 64.
    """
    rng = np.random.default_rng(0)

    def build(numbers: Any) -> Any:
        total = np.zeros((4, 4, 4))
        for half in np.split(numbers, 2):
            core, a, b, c = np.split(half, [8, 16, 24])
            total += np.einsum("abc,ia,jb,kc", core.reshape(2, 2, 2), *(one.reshape(4, 2) for one in (a, b, c)))
        return total.ravel()

    point = rng.standard_normal(64)
    jacobian = np.stack([(build(point + step) - build(point - step)) / 2e-5 for step in 1e-5 * np.eye(64)])
    assert np.linalg.matrix_rank(jacobian, tol=1e-5) == 40


def test_lemma_7_is_half_of_what_it_should_be() -> None:
    """phi'(0) - y is 1/2 or -1/2: its psi_2 norm, the supremum of (E|X|^p)^(1/p) / sqrt(p), is 1/2, at p = 1."""
    values = np.array([0.5, -0.5])
    norms = [np.mean(np.abs(values) ** p) ** (1 / p) / math.sqrt(p) for p in range(1, 10)]
    assert max(norms) == pytest.approx(0.5)


def test_lemma_4_takes_uncorrelated_for_independent() -> None:
    """phi'(eta) - y and <z, D> are uncorrelated; their squares are not."""
    rng = np.random.default_rng(0)
    z = 3 * rng.standard_normal(200_000)
    share = 1 / (1 + np.exp(-z))
    off = share - (rng.random(len(z)) < share)
    assert abs(np.corrcoef(off, z)[0, 1]) < 0.01
    assert np.corrcoef(off**2, z**2)[0, 1] < -0.05


def test_the_truth_of_figure_7_has_one_distribution_for_all_k() -> None:
    """B of K columns times an orthonormal factor is Gaussian of R columns: only an optimiser can see K."""
    geometry = Geometry((6, 6), Window(kernel=(4, 4), pooling=(1, 1)))
    family = CP((4, 4), 2)
    second, fourth = [], []
    for kernels in (2, 32):
        rng = np.random.default_rng(0)
        outputs = np.concatenate([draw_truth(geometry, family, rng, kernels=kernels).output for _ in range(1500)])
        flat = outputs.reshape(len(outputs), -1)
        second.append(np.cov(flat.T))
        fourth.append(np.mean(flat**4))
    for covariance in second:
        assert np.abs(covariance - np.eye(len(covariance))).max() < 0.15
    assert fourth[0] == pytest.approx(3, rel=0.05)
    assert fourth[1] == pytest.approx(3, rel=0.05)


def test_part_b_can_be_sharper() -> None:
    """The proof gives sqrt(alpha_RSM / alpha_RSC) where alpha_RSM / alpha_RSC is printed: 1.7 to any ratio."""
    model = netpact.model_complexity("cnn", kernel=(3,), pooled=(4,), kernels=2)
    conditions = Conditions(isometry=Isometry(0.5, 1.0), inputs=InputCovariance.independent(), noise_std=1.0)
    found = netpact.estimation_error(model, conditions, samples=1000)
    sharper = 16 * math.sqrt(conditions.smoothness / conditions.strong_convexity)
    sharper *= math.sqrt(int(model) / 1000) + math.sqrt(1 / 1000)
    assert found.empirical is not None
    assert found.empirical / sharper == pytest.approx(math.sqrt(conditions.smoothness / conditions.strong_convexity))
    assert replace(conditions, slack=2.0).slack == 2.0


def test_every_test_that_the_page_names_exists() -> None:
    known = {
        name for path in (ROOT / "tests").rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    text = PAGE.read_text()
    named = set(re.findall(r"`(test_\w+)`", text))
    assert len(named) >= 10
    assert named <= known
    corrections = text.split("## Corrections")[1].split("##")[0]
    rows = [line for line in corrections.splitlines() if line.startswith("|")][2:]
    assert rows
    assert all("`test_" in row for row in rows), "each correction has its test"
