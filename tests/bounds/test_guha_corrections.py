"""docs/papers/guha.md: each printed statement that does not hold, where it fails, and the form that holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from bounds.bound_examples import chain, some_data
from numpy.typing import NDArray
from scipy import integrate
from torch import nn

from netpact import TrainOptions, build, compare_with_pruning_lemmas, estimate_bounds, load_data, parse_model, train
from netpact.algebra.sketching import distributed_sparsity
from netpact.bounds import EstimateOptions, Gamma
from netpact.papers.guha.counting import most_kept, most_kept_directly, sketch_size
from netpact.papers.guha.lemmas import (
    input_factor,
    log_output_error,
    norm_of_pruned,
    rounding_norm,
)
from netpact.papers.guha.masks import draw_mask
from netpact.papers.guha.moments import normal_moments
from netpact.papers.guha.published import TABLE_1, WIDTHS, sizes_of

Matrix = NDArray[np.float64]


def draw(*shape: int, seed: int = 0, std: float = 1.0) -> Matrix:
    return np.random.default_rng(seed).normal(0.0, std, shape)


def norm(matrix: Matrix) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False)[0])


def test_lemma_4_3_fails_with_biases() -> None:
    """At x = 0 the proof's e |x| prod |A| sum is 0, whatever the biases are. With d_1^0 for |x|, large biases do it."""
    matrices = [draw(12, 6, std=0.3), draw(4, 12, seed=1, std=0.3)]
    x, y = np.zeros((4, 6), dtype=np.float32), np.arange(4)
    for size in (1.0, 1e6):
        network = chain(*matrices, biases=(np.full(12, size), np.zeros(4)))
        report = compare_with_pruning_lemmas(network, 1.0, (x, y))
        assert report.error > 0.1 * size
        proof = log_output_error(
            norms=[one.norm for one in report.layers],
            changes=[one.change for one in report.layers],
            lipschitz=[1.0, 1.0],
            input_size=0.0,  # |x|, where the lemma prints d_1^0
        )
        assert proof == -math.inf, "a bound of 0"
        assert report.error <= report.valid
        assert report.error <= report.deviation.bounds.max()
    assert report.lemma("4.3").violated
    assert report.lemma("4.4").violated
    assert report.failing[0].text == "no biases"


def test_the_dimension_of_the_input_is_no_bound_on_its_length() -> None:
    matrices = [draw(12, 6, std=0.3), draw(4, 12, seed=1, std=0.3)]
    data = some_data(inputs=6, classes=4, count=8)
    for size, violated in ((1.0, False), (1e6, True)):
        x = next(iter(data.train.batches(8)))[0] * np.float32(size)
        report = compare_with_pruning_lemmas(chain(*matrices), 1.0, (x, np.arange(8) % 4))
        assert report.lemma("4.3").violated == violated
        assert ("|x|_2 <= d_1^0" in [one.text for one in report.failing]) == violated
        assert report.error <= report.valid


def test_lemma_4_2_is_about_weights_without_structure() -> None:
    """Lemma B.1 is about independent entries of mean 0. Given the weights, those of A^ - A have the mean
    -w exp(-w^2 / (d Psi)): signs of rank one have mean 0 and variance 1, and |A^ - A| grows like p, not sqrt(p).
    """
    ratios = []
    for size in (50, 100, 200, 400):
        signs = np.sign(draw(2, size))
        weight = torch.from_numpy(np.outer(signs[0], signs[1]))
        kept = draw_mask(weight, scale=1.0, seed=0, layer=0)
        moved = norm((weight * ~kept).numpy())
        ratios.append(moved / norm_of_pruned(rows=size, columns=size, variance=1.0, scale=1.0))
    assert ratios == sorted(ratios)
    assert ratios[-1] > 2, "eps = 2 should fail for half of the masks at most"
    assert ratios[-1] / ratios[0] > 2.2, "no constant C will do"


def test_lemma_4_2_with_c_1_holds_of_normal_weights() -> None:
    """The constant of Latala 2005 has no known value; on normal weights the bound on the mean has room with C = 1."""
    ratios = []
    for seed in range(20):
        for scale in (0.1, 1.0, 10.0):
            weight = torch.from_numpy(draw(60, 90, seed=seed))
            moved = norm((weight * ~draw_mask(weight, scale=scale, seed=seed, layer=0)).numpy())
            ratios.append(moved / norm_of_pruned(rows=60, columns=90, variance=1.0, scale=scale))
    assert max(ratios) < 1
    assert np.median(ratios) > 0.4


@pytest.mark.parametrize("depth", [2, 5, 10])
def test_the_premise_of_lemma_4_3_leaves_nothing_to_prune(depth: int) -> None:
    """The probability 1 - sum 1/eps_l asks for eps_l > L, the proof for eps_l Gamma_l <= |A^l| / L ("for sufficiently
    small eps_l"). Of normal matrices, |A| is about 2 sqrt(p Psi): both together keep nearly all weights, and then
    Theorem 5.2 counts more numbers than there are.
    """
    size = 784
    scales = np.geomspace(1e-6, 1e3, 2000)
    allowed = [
        scale
        for scale in scales
        if depth * norm_of_pruned(rows=size, columns=size, variance=1.0, scale=float(scale))
        <= 2 * math.sqrt(size) / depth
    ]
    kept = normal_moments(scale=max(allowed), variance=1.0).kept
    assert kept > {2: 0.6, 5: 0.9, 10: 0.97}[depth]
    numbers = sketch_size(rows=size, columns=size, nonzeros=3 * depth * kept * size)
    assert numbers > 100 * size**2


def test_theorem_5_2_drops_failures_that_add_up_to_more_than_1() -> None:
    """Lemma 5.1 fails with probability 1/lambda + d_1^(-1/3) + d_2^(-1/3); Theorem 5.2 keeps the first alone."""
    for width in WIDTHS:
        sizes = sizes_of(inputs=784, width=width)
        assert sum(rows ** (-1 / 3) + columns ** (-1 / 3) for rows, columns in sizes) > 1
    data = some_data(inputs=6, classes=4, count=20)
    network = chain(draw(12, 6, std=0.3), draw(4, 12, seed=1, std=0.3))
    found = estimate_bounds(network, data, EstimateOptions(gamma=Gamma(value=0.1)), only=["guha-5.2", "guha-d.1"])
    assert [one.text for one in found["guha-5.2"].failing] == ["the probabilities of failure add up to less than 1"]
    assert not found["guha-d.1"].failing


def test_the_proof_of_theorem_5_2_takes_d1_d2_for_p_squared() -> None:
    """(sqrt(j p) log p)^2 with j = 3 lambda chi p is 3 lambda chi p^2 log^2 p, p the larger side of the matrix."""
    rows, columns, chi, tail = 10, 784, 0.01, 2.0
    nonzeros = 3 * tail * chi * max(rows, columns)  # Lemma 5.1
    by_the_theorem = 3 * tail * chi * rows * columns * math.log(784) ** 2
    found = sketch_size(rows=rows, columns=columns, nonzeros=nonzeros)
    assert found == pytest.approx((math.sqrt(nonzeros * 784) * math.log(784)) ** 2)
    assert found / by_the_theorem == pytest.approx(78.4)


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_equation_11_is_the_share_that_is_kept(scale: float) -> None:
    """(9) to (11) call chi the probability of being pruned; the integral (10) is 1 - chi."""
    pruned, _ = integrate.quad(
        lambda w: math.exp(-(w**2) / (scale * 2.0)) * math.exp(-(w**2) / 4.0) / math.sqrt(4.0 * math.pi), -60, 60
    )
    chi = (math.sqrt(scale + 2) - math.sqrt(scale)) / math.sqrt(scale + 2)
    assert pruned == pytest.approx(math.sqrt(scale / (scale + 2)), rel=1e-6)
    assert pruned == pytest.approx(1 - chi, rel=1e-6)
    assert normal_moments(scale=scale, variance=2.0).kept == pytest.approx(chi, rel=1e-12)


def test_lemma_5_1_forgets_the_diagonal() -> None:
    """Algorithm 1 keeps it, so that every row and column has an entry, while 3 lambda p chi falls below 1."""
    weight = torch.from_numpy(draw(16, 16))
    scale, tail = 10_000.0, 100.0
    assert 3 * tail * 16 * normal_moments(scale=scale, variance=1.0).kept < 1
    for seed in range(20):
        assert min(distributed_sparsity(weight * draw_mask(weight, scale=scale, seed=seed, layer=0))) >= 1


def test_lemma_e_1_needs_many_more_balls_than_bins() -> None:
    """As many balls as bins: the fullest has about log n / log log n, not 3, in far more than n^(-1/3) of the draws."""
    random, bins, draws = np.random.default_rng(0), 2000, 200

    def fails(balls: int) -> float:
        found = [np.bincount(random.integers(bins, size=balls)).max() > 3 * balls / bins for _ in range(draws)]
        return float(np.mean(found))

    assert fails(bins) > 0.99 > bins ** (-1 / 3)
    assert fails(round(3 * bins * math.log(bins))) == 0


def test_lemma_c_1_takes_the_dimension_of_the_output_for_that_of_the_input() -> None:
    """B is d_1 x d_2, so that x has d_2 entries and P[<x, v> >= t] <= exp(-t^2 d_2 / 2) on the sphere, not d_1. With
    orthonormal columns |Bx| = |x| always, and the lemma says kappa |x| < |x| but for a probability of 0.01.
    """
    rows, columns, samples = 400, 4, 50
    isometry = np.linalg.qr(draw(rows, columns))[0]
    kappa = input_factor(rows=rows, columns=columns, samples=samples, failure=0.01)
    x = draw(samples, columns, seed=1)
    assert kappa < 0.5
    assert (np.linalg.norm(x @ isometry.T, axis=1) > kappa * norm(isometry) * np.linalg.norm(x, axis=1)).all()


def test_lemma_c_1_needs_all_directions_at_once() -> None:
    """Read with x of d_1 entries and B onto d_2 of them, its bound holds if each of d_2 entries is below t, and the
    probability is that of one: |Bx| <= sqrt(d_2) t |x| should fail with probability exp(-t^2 d_1 / 2) = 0.64.
    """
    inputs, outputs, draws = 1000, 500, 400
    t = math.sqrt(0.9 / inputs)
    x = draw(draws, inputs, seed=2)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    failing = np.linalg.norm(x[:, :outputs], axis=1) > math.sqrt(outputs) * t
    assert math.exp(-0.5 * t**2 * inputs) < 0.65
    assert failing.mean() > 0.95


def test_lemma_c_2_multiplies_by_factors_below_1() -> None:
    """kappa_l enters the product though the proof has |x^(l-1)| <= |x| prod L |A| without it: layers that keep every
    length, one of them changed by a tenth, and a bound that is smaller than the change.
    """
    inner, outer = 4, 400
    up = [np.linalg.qr(draw(outer, inner, seed=seed))[0] for seed in range(4)]
    matrices = [matrix for one in up for matrix in (one, one.T)]
    x = draw(20, inner, seed=9)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    first, other = x.T, x.T
    for place, matrix in enumerate(matrices):
        first = matrix @ first
        other = matrix * (1.1 if place == 7 else 1.0) @ other
    measured = np.linalg.norm(first - other, axis=0).max()
    factors = [input_factor(rows=len(one), columns=one.shape[1], samples=20, failure=0.01) for one in matrices]
    known = {"norms": [1.0] * 8, "changes": [0.0] * 7 + [0.1], "lipschitz": [1.0] * 8, "input_size": float(inner)}
    with_kappa, without = (log_output_error(**known, factors=kappas) for kappas in (factors, ()))  # type: ignore[arg-type]
    assert measured == pytest.approx(0.1)
    assert math.exp(with_kappa) < measured <= math.exp(without)


def test_the_norm_of_a_matrix_has_the_unit_of_its_weights() -> None:
    """The proof of Lemma 4.3 has E|A| >= (sqrt(d_1) + sqrt(d_2)) / 4, which is that of variance 1."""
    for std, holds in ((1.0, True), (0.1, False)):
        found = np.mean([norm(draw(30, 50, seed=seed, std=std)) for seed in range(20)])
        assert (found >= (math.sqrt(30) + math.sqrt(50)) / 4) == holds
        assert found == pytest.approx(std * (math.sqrt(30) + math.sqrt(50)), rel=0.1)


def test_lemma_b_2_needs_its_premise() -> None:
    """|U| <= |A| / L stands in the proof of Lemma 4.3 alone. Pruning one entry of (1, 1; 1, -1) enlarges its norm."""
    full, pruned = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([[1.0, 1.0], [1.0, 0.0]])
    depth, x = 60, np.array([1.0, (math.sqrt(5) - 1) / 2])
    measured = norm(
        np.linalg.matrix_power(pruned, depth) @ x[:, None] - np.linalg.matrix_power(full, depth) @ x[:, None]
    )
    bound = log_output_error(
        norms=[norm(full)] * depth,
        changes=[norm(full - pruned)] * depth,
        lipschitz=[1.0] * depth,
        input_size=2.0,
    )
    assert norm(full - pruned) > norm(full) / depth
    assert math.log(measured) > bound


def test_rounding_moves_a_matrix_by_half_a_step_times_a_root() -> None:
    """Lemma 4.4 has rho J, which holds; (rho / 2) sqrt(J) holds, too, and is smaller by 2 sqrt(J)."""
    ratios = []
    for seed in range(20):
        matrix = draw(20, 30, seed=seed) * (draw(20, 30, seed=seed + 100) > 0.5)
        rounded = np.round(matrix / 0.1) * 0.1
        bound = rounding_norm(step=0.1, nonzeros=int(np.count_nonzero(matrix)))
        ratios.append(norm(rounded - matrix) / bound)
    assert max(ratios) <= 1
    assert np.median(ratios) > 0.2
    single = rounding_norm(step=0.1, nonzeros=1)
    assert abs(round(0.1499999 / 0.1) * 0.1 - 0.1499999) == pytest.approx(single, rel=1e-5), "reached by one entry"


def test_a_margin_of_gamma_does_not_survive_an_error_of_gamma() -> None:
    """Theorem 5.2 asks for gamma >= |f - g|_2, which needs a factor sqrt 2; Definition 3.1, in the sup norm, 2."""
    gamma, f, g = 1.0, np.array([1.2, 0.0]), np.array([0.5, 0.7])
    assert f[0] - f[1] > gamma
    assert np.linalg.norm(f - g) <= gamma
    assert g[0] < g[1], "it is an error of g, and none of f with margin gamma"
    assert f[0] - f[1] < math.sqrt(2) * gamma


def test_the_empirical_margin_loss_is_printed_reversed() -> None:
    """Section 3.1 counts margins >= gamma: a classifier that is always wrong has the loss 0, and a perfect one 1."""
    always_wrong, perfect = np.full(50, -3.0), np.full(50, 3.0)
    assert np.mean(always_wrong >= 1.0) == 0
    assert np.mean(perfect >= 1.0) == 1
    assert np.mean(always_wrong <= 1.0) == 1, "the loss that the proof uses, and netpact"


def test_theorem_d_1_is_right_and_its_last_step_is_not() -> None:
    """J exp(-2 tau n) = delta does not give the tau that is printed; J exp(-2 tau^2 n) does."""
    count, samples, delta = 1e6, 500, 0.05
    tau = math.sqrt(math.log(math.sqrt(count / delta)) / samples)
    assert count * math.exp(-2 * tau**2 * samples) == pytest.approx(delta)
    assert count * math.exp(-2 * tau * samples) < 1e-9 * delta


def test_alpha_of_lemma_d_3_is_what_is_pruned() -> None:
    """D.1 counts alpha entries that stay, D.3 says how many go: with its alpha, pruning less would count less."""
    entries = 10_000
    pruned = [entries - most_kept(entries, scale=scale, failure=0.01) for scale in (0.01, 1.0, 100.0)]
    assert pruned == sorted(pruned)
    kept = [most_kept(entries, scale=scale, failure=0.01) for scale in (0.01, 1.0, 100.0)]
    direct = [most_kept_directly(entries, scale=scale, failure=0.01) for scale in (0.01, 1.0, 100.0)]
    assert all(one <= other for one, other in zip(direct, kept, strict=True))
    # Under the assumption the number kept is binomial: D.2 and D.3 lose most of what is pruned with little chance.
    assert kept[1] / direct[1] > 1.2


def test_levels_are_a_range_over_a_step() -> None:
    """log(1/rho) of Theorem 5.2 depends on the unit of the weights, and is negative for rho > 1."""
    for unit in (1.0, 1000.0):
        weights = np.round(np.linspace(-1, 1, 21) * unit / (0.1 * unit)) * 0.1 * unit
        assert len(np.unique(np.round(weights, 6))) == 21 == 2 * unit / (0.1 * unit) + 1
    assert math.log(1 / (0.1 * 1000)) < 0


def test_a_number_of_a_sketch_has_more_values_than_a_weight() -> None:
    """Y = A X B^T adds up weights, so that r levels of X are more levels of Y: log r is too little for m^2 numbers."""
    random = np.random.default_rng(0)
    x = random.integers(-1, 2, (64, 64)) * (random.random((64, 64)) < 0.2)
    ones = (random.random((24, 64)) < 0.2).astype(int)
    assert len(np.unique(x)) == 3
    assert len(np.unique(ones @ x @ ones.T)) > 20


def test_a_sketch_has_more_numbers_than_the_matrix_has_nonzeros() -> None:
    """At least log^2 p times as many: the nonzeros are at most j p."""
    for size in (64, 784):
        for nonzeros in (1, 8, size):
            numbers = sketch_size(rows=size, columns=size, nonzeros=nonzeros)
            assert numbers / (nonzeros * size) >= math.log(size) ** 2 - 1e-9


def test_the_premises_of_theorem_6_1_fail_on_trained_networks(trained: nn.Module) -> None:
    """|A|_2 <= 1 and |A|_max <= 1/sqrt(d) for |x| <= 1."""
    found = estimate_bounds(trained, load_data("digits"), only=["guha-6.2"])["guha-6.2"]
    failing = [one.text for one in found.failing]
    assert "|A|_2 <= 1 in every layer (Theorem 6.1)" in failing
    assert "|A|_max <= 1/sqrt(d) in every layer (Theorem 6.1)" in failing
    assert "|x|_2 <= 1" in failing


@pytest.fixture(scope="module")
def trained() -> nn.Module:
    data = load_data("digits")
    start = build(parse_model("mlp:24-16", input_shape=data.input_shape, classes=data.classes))
    return train(start, data.train, TrainOptions(epochs=2, learning_rate=0.01)).module


def test_the_printed_growth_is_that_of_counting_all_weights() -> None:
    """From width 500 to 2,500 the row "Ours" grows by 1.60; ln 5 = 1.61 is what sqrt(width^2) grows by."""
    assert TABLE_1["ours"][-1] - TABLE_1["ours"][0] == pytest.approx(math.log(WIDTHS[-1] / WIDTHS[0]), abs=0.02)
