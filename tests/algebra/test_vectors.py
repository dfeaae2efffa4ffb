"""Vector-Compress and Vector-Project: means, failure rates by simulation, and where the printed constants differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, chi2

from netpact.algebra.projection import SignProjector
from netpact.algebra.vectors import (
    DIRECTIONS,
    compress_vector,
    draw_directions,
    draw_entries,
    keep_probabilities,
    lemma5_step,
    most_nonzeros,
    printed_project_count,
    printed_project_step,
    project_vector,
    valid_project_count,
    valid_project_step,
)
from netpact.core.errors import PactError

Array = NDArray[np.float64]

ENTRIES = 200
TRIALS = 4000


def unit(values: Array) -> Array:
    return values / np.linalg.norm(values)


def classifier(decay: float = 0.0) -> Array:
    random = np.random.default_rng(7)
    return unit(random.standard_normal(ENTRIES) * (1.0 + np.arange(ENTRIES)) ** -decay)


C = classifier()
STEEP = classifier(1.5)  # a few large entries: those have p_i = 1
# Fixed before any draw: anywhere, the classifier itself, and where the smallest nonzero probabilities are.
INPUTS = {
    "any": unit(np.random.default_rng(8).standard_normal(ENTRIES)),
    "itself": C,
    "its signs": unit(np.sign(C)),
    "one entry": np.eye(ENTRIES)[int(np.argmax(np.abs(C)))],
}


def refuse_more_than(eta: float, failures: int, trials: int) -> None:
    """A one-sided binomial test at one in a thousand."""
    assert failures <= binom.ppf(0.999, trials, eta), f"{failures} of {trials} fail, {eta:g} is allowed"


class TestVectorCompress:
    @pytest.mark.parametrize("vector", [C, STEEP])
    def test_the_mean_is_the_vector(self, vector: Array) -> None:
        random = np.random.default_rng(0)
        drawn = compress_vector(np.tile(vector, (TRIALS, 1)), gamma=0.4, eta=0.2, random=random)
        kept = keep_probabilities(vector, gamma=0.4, eta=0.2)
        deviation = np.sqrt(np.square(vector) * (1 - kept) / kept / TRIALS)
        assert (np.abs(drawn.mean(axis=0) - vector) <= 5 * deviation + 1e-12).all()

    def test_entries_that_are_kept_for_certain_keep_their_value(self) -> None:
        kept = keep_probabilities(STEEP, gamma=0.4, eta=0.2)
        assert kept.max() == 1.0  # as printed: 2 * 0.5 / (0.2 * 0.16) = 31 for the first
        drawn = compress_vector(STEEP, gamma=0.4, eta=0.2, random=np.random.default_rng(0))
        assert np.array_equal(drawn[kept == 1], STEEP[kept == 1])

    @pytest.mark.parametrize("u", INPUTS.values(), ids=INPUTS)
    @pytest.mark.parametrize(("gamma", "eta"), [(0.3, 0.3), (0.5, 0.05)])
    def test_lemma_4_holds_for_fixed_inputs_even_with_half_of_eta(self, u: Array, gamma: float, eta: float) -> None:
        random = np.random.default_rng(1)
        drawn = compress_vector(np.tile(C, (TRIALS, 1)), gamma=gamma, eta=eta, random=random)
        errors = np.abs((drawn - C) @ u)
        refuse_more_than(eta / 2, int((errors > gamma).sum()), TRIALS)
        assert np.square(errors).mean() <= 1.1 * eta * gamma**2 / 2  # the variance that Lemma 4 prints twice as large

    @pytest.mark.parametrize(("constant", "holds"), [(2.0, True), (0.5, False)])
    def test_the_constant_may_be_1_but_not_less(self, constant: float, holds: bool) -> None:
        """A small entry, seen by its basis vector: kept with p_i near eta / constant, then too large by gamma."""
        gamma, eta = 0.5, 0.05
        entry = np.full((20 * TRIALS, 1), 0.9 * eta * gamma / constant)
        # p_i = constant c_i^2 / (eta gamma^2)
        drawn = compress_vector(entry, gamma=gamma * math.sqrt(2 / constant), eta=eta, random=np.random.default_rng(2))
        failing = (np.abs(drawn - entry) > gamma).mean()
        assert failing == pytest.approx(0.81 * eta / constant, rel=0.1)
        assert (failing <= eta) == holds

    @pytest.mark.parametrize("vector", [C, STEEP])
    def test_nonzeros_within_the_lemma(self, vector: Array) -> None:
        random = np.random.default_rng(3)
        gamma, eta, delta = 0.6, 0.3, 0.05
        drawn = compress_vector(np.tile(vector, (TRIALS, 1)), gamma=gamma, eta=eta, random=random)
        counts = np.count_nonzero(drawn, axis=1)
        assert counts.mean() <= 2 / (eta * gamma**2)
        refuse_more_than(delta, int((counts > most_nonzeros(gamma=gamma, eta=eta, delta=delta)).sum()), TRIALS)
        assert most_nonzeros(gamma=gamma, eta=eta, delta=delta) < 2 * 2 / (eta * gamma**2)

    def test_it_fails_on_some_basis_vector(self) -> None:
        """The remark after Lemma 6: for all inputs at once no draw works. An entry that is kept grows to c_i / p_i."""
        gamma, eta = 0.3, 0.3
        flat = np.full(1000, 1 / math.sqrt(1000))
        drawn = compress_vector(np.tile(flat, (200, 1)), gamma=gamma, eta=eta, random=np.random.default_rng(0))
        wrong = np.abs(drawn - flat) > gamma
        assert wrong.any(axis=1).all()
        assert wrong.mean(axis=0).max() <= eta  # and yet each of them fails rarely


def compress_to_grid(vector: Array, *, gamma: float, eta: float, step: float, random: np.random.Generator) -> Any:
    return np.rint(draw_entries(vector, gamma=gamma, eta=eta, random=random) / step).astype(np.int64)


class TestLemma5:
    gamma, eta = 0.4, 0.2

    @pytest.mark.parametrize("vector", [C, STEEP])
    @pytest.mark.parametrize("u", INPUTS.values(), ids=INPUTS)
    def test_it_holds_for_fixed_inputs(self, vector: Array, u: Array) -> None:
        step = lemma5_step(gamma=self.gamma, entries=ENTRIES)
        symbols = compress_to_grid(
            np.tile(vector, (TRIALS, 1)), gamma=self.gamma, eta=self.eta, step=step, random=np.random.default_rng(4)
        )
        assert symbols.dtype == np.int64
        errors = np.abs((symbols * step - vector) @ u)
        refuse_more_than(self.eta / 2, int((errors > self.gamma).sum()), TRIALS)

    def test_small_entries_are_dropped_and_cost_a_quarter(self) -> None:
        limit = self.gamma / (4 * math.sqrt(ENTRIES))
        step = lemma5_step(gamma=self.gamma, entries=ENTRIES)
        vector = np.full(ENTRIES, limit)
        random = np.random.default_rng(5)
        for factor, empty in ((1.0, True), (1.001, False)):
            many = np.tile(factor * vector, (500, 1))
            symbols = compress_to_grid(many, gamma=self.gamma, eta=self.eta, step=step, random=random)
            assert (not symbols.any()) is empty
        assert np.linalg.norm(vector) == pytest.approx(self.gamma / 4)

    def test_entries_are_drawn_for_half_of_gamma(self) -> None:
        """p_i = 8 c_i^2 / (eta gamma^2), so an entry that is kept becomes eta gamma^2 / (8 c_i), rounded."""
        step = lemma5_step(gamma=self.gamma, entries=ENTRIES)
        vector = np.full(ENTRIES, 0.02)
        random = np.random.default_rng(9)
        symbols = compress_to_grid(vector, gamma=self.gamma, eta=self.eta, step=step, random=random)
        assert set(symbols.tolist()) == {0, round(self.eta * self.gamma**2 / (8 * 0.02) / step)}

    def test_the_cut_that_the_proof_uses_is_not_the_printed_one(self) -> None:
        """|c_i| <= gamma / (4 sqrt h) says |c~_i| = c_i / p_i >= eta gamma sqrt(h) / 2, not 2 eta gamma sqrt(h)."""
        entry = np.array([self.gamma / (4 * math.sqrt(ENTRIES))])
        value = entry / keep_probabilities(entry, gamma=self.gamma / 2, eta=self.eta)
        assert value[0] == pytest.approx(self.eta * self.gamma * math.sqrt(ENTRIES) / 2)
        assert value[0] == pytest.approx(2 * self.eta * self.gamma * math.sqrt(ENTRIES) / 4)

    @pytest.mark.parametrize("factor", [0.5, 2.0])
    def test_a_cut_of_the_values_drops_what_is_kept_for_certain(self, factor: float) -> None:
        """With p_i capped at 1, both cuts on |c~_i| set the one entry of a basis vector to 0."""
        gamma, eta = 0.1, 0.1
        basis = np.eye(ENTRIES)[0]
        drawn = compress_vector(basis, gamma=gamma / 2, eta=eta, random=np.random.default_rng(6))
        cut = np.where(np.abs(drawn) >= factor * eta * gamma * math.sqrt(ENTRIES), 0.0, drawn)
        assert abs(cut @ basis - basis @ basis) == 1
        step = lemma5_step(gamma=gamma, entries=ENTRIES)
        symbols = compress_to_grid(basis, gamma=gamma, eta=eta, step=step, random=np.random.default_rng(6))
        assert abs(symbols @ basis * step - 1) <= gamma / 4


def project_many(kind: str, vector: Array, u: Array, *, count: int, step: float | None, trials: int) -> Array:
    """Errors for so many independent sets of directions."""
    return np.array(
        [
            (project_vector(vector, draw_directions(kind, entries=ENTRIES, count=count, seed=seed), step=step) - vector)
            @ u
            for seed in range(trials)
        ]
    )


@pytest.mark.parametrize("kind", DIRECTIONS)
class TestVectorProject:
    gamma, eta, trials = 1.0, 0.3, 500

    def test_the_mean_is_the_vector_and_the_variance_is_at_most_2_over_k(self, kind: str) -> None:
        errors = project_many(kind, C, C, count=25, step=None, trials=self.trials)
        assert abs(errors.mean()) <= 5 * math.sqrt(2 / 25 / self.trials)
        expected = 2.0 if kind == "gaussians" else 2 * (1 - np.power(C, 4).sum())
        assert np.square(errors).mean() == pytest.approx(expected / 25, rel=0.2)

    @pytest.mark.parametrize("u", [INPUTS["any"], INPUTS["itself"]], ids=["any", "itself"])
    def test_lemma_7_holds_as_printed_and_in_our_form(self, kind: str, u: Array) -> None:
        count = printed_project_count(gamma=self.gamma, eta=self.eta)
        step = printed_project_step(gamma=self.gamma, entries=ENTRIES, count=count)
        errors = project_many(kind, C, u, count=count, step=step, trials=self.trials)
        refuse_more_than(self.eta, int((np.abs(errors) > self.gamma).sum()), self.trials)
        count, step = valid_project_count(gamma=self.gamma, eta=self.eta), valid_project_step(gamma=self.gamma)
        errors = project_many(kind, C, u, count=count, step=step, trials=self.trials)
        refuse_more_than(self.eta, int((np.abs(errors) > self.gamma).sum()), self.trials)

    def test_too_few_directions_fail(self, kind: str) -> None:
        """The simulation can see a failure: a sixteenth of the printed number is not enough."""
        count = printed_project_count(gamma=self.gamma, eta=self.eta) // 16
        errors = project_many(kind, C, C, count=count, step=None, trials=self.trials)
        assert (np.abs(errors) > self.gamma / 2).sum() > binom.ppf(0.999, self.trials, self.eta)

    def test_rounding_costs_what_it_says(self, kind: str) -> None:
        gamma, count = 0.8, 60
        directions = draw_directions(kind, entries=ENTRIES, count=count, seed=5)
        plain = project_vector(C, directions)
        for step, most in (
            (printed_project_step(gamma=gamma, entries=ENTRIES, count=count), 2 * gamma / (2 * count)),
            (valid_project_step(gamma=gamma), gamma / 8),
        ):
            rounded = project_vector(C, directions, step=step)
            moved = [abs(float((rounded - plain) @ u)) for u in INPUTS.values()]
            assert 0 < max(moved) <= most

    def test_every_basis_vector_is_kept_at_once(self, kind: str) -> None:
        """What Vector-Compress cannot do: eta / h for each of h inputs costs a logarithm."""
        count = valid_project_count(gamma=0.9, eta=0.1 / ENTRIES)
        for seed in range(20):
            directions = draw_directions(kind, entries=ENTRIES, count=count, seed=seed)
            found = project_vector(C, directions, step=valid_project_step(gamma=0.9))
            assert np.abs(found - C).max() <= 0.9


def share_failing(count: int, *, gamma: float) -> float:
    """P[|c^.c - 1| > gamma] for normal directions: c^.c is a chi-square over its degrees of freedom."""
    return float(chi2.sf(count * (1 + gamma), count) + chi2.cdf(count * (1 - gamma), count))


@pytest.mark.parametrize("gamma", [1.0, 0.7, 0.3, 0.1])
@pytest.mark.parametrize("eta", [0.5, 0.1, 1e-3, 1e-6, 1e-12])
def test_exact_failure_rates_of_vector_project(gamma: float, eta: float) -> None:
    printed, valid = (count(gamma=gamma, eta=eta) for count in (printed_project_count, valid_project_count))
    assert share_failing(printed, gamma=gamma) <= eta
    assert share_failing(valid, gamma=7 / 8 * gamma) <= 0.8 * eta
    assert float(chi2.sf(4 * valid, valid)) <= eta / 5
    assert valid < printed or eta >= 0.1


def test_the_inequality_in_the_proof_of_lemma_7_fails() -> None:
    """P[|c^.u - c.u| > gamma/2] <= exp(-gamma^2 k / 16), by exact tails, at u = c."""
    for gamma, eta, factor in ((1.0, 1e-6, 1.9), (1.0, 1e-12, 40), (0.5, 1e-12, 2.5)):
        count = printed_project_count(gamma=gamma, eta=eta)
        assert math.exp(-(gamma**2) * count / 16) <= eta
        assert share_failing(count, gamma=gamma / 2) > factor * eta


def test_the_projector_of_the_form_computes_the_same() -> None:
    """Blocks of octets against plain matrices, through the same signs."""
    projector = SignProjector(size=ENTRIES, count=20, seed=3, layer=0)
    signs = projector.combine(np.eye(20, dtype=np.int64))
    assert np.allclose(project_vector(C, signs), projector.measure(C[None])[0] @ signs / 20)


def test_bad_accuracies() -> None:
    for gamma, eta, where in ((0.0, 0.1, "gamma"), (1.1, 0.1, "gamma"), (0.5, 0.0, "eta"), (0.5, math.nan, "eta")):
        with pytest.raises(PactError, match=f"{where}: must be a finite number > 0 and <= 1"):
            printed_project_count(gamma=gamma, eta=eta)
    with pytest.raises(PactError, match="directions: 'even' is not known; allowed: signs, gaussians"):
        draw_directions("even", entries=3, count=2, seed=0)
