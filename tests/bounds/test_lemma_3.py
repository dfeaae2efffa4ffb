"""Lemma 3 of Arora et al. 2018: its count by hand, and what it promises by simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from bounds.bound_examples import chain, make_facts, make_layer, make_stability
from bounds.sign_projection import Matrix, project, run_chain

from netpact.algebra.projection import valid_count
from netpact.bounds import RULES
from netpact.datasets import as_data
from netpact.measurements import MeasureOptions, find_structure, measure
from netpact.network import trace
from netpact.papers.arora.facts import read_stability
from netpact.papers.arora.lemma_3 import (
    accuracy_for_gamma,
    failure_shares,
    log_accuracies,
    log_count,
    log_printed_parameters,
    log_valid_parameters,
)
from netpact.papers.arora.stability import CushionOptions, Stability

TWO = make_stability(
    make_layer(cushion=0.5, interlayer=0.25, units=3), make_layer(cushion=0.8, interlayer=0.5, contraction=2.0, units=2)
)
POSITIVE = [
    np.array([[0.9, 0.4], [0.3, 1.1], [0.5, 0.6]]),
    np.array([[0.7, 0.2, 0.4], [0.1, 0.8, 0.5]]),
]
INPUTS = np.array([[0.4, 0.9], [1.0, 0.2], [0.6, 0.5]])


def test_accuracies_by_hand() -> None:
    """eps_i = eps mu_i mu_i-> / (6 c d) with c = 2, d = 2."""
    found = np.exp(log_accuracies(TWO, eps=0.5))
    assert found == pytest.approx([0.5 * 0.5 * 0.25 / 24, 0.5 * 0.8 * 0.5 / 24])


def test_six_spends_the_induction_step_exactly_and_four_too_much() -> None:
    """The text prints eps_i = eps mu mu-> / (4cd); the lemma's own constant 72 = 2 * 6^2 is that of 6."""

    def spent(parts: float) -> float:
        """Of eps/d: 2/parts for the error that goes through the Jacobian (the input may be twice as long), and
        1/3 + 1/3 for the change of the activations, with rho >= 3d."""
        return 2 / parts + 2 / 3

    assert spent(6) == pytest.approx(1.0)
    assert spent(4) > 1.16
    one = make_stability(make_layer(cushion=1.0, interlayer=1.0))
    assert math.exp(log_accuracies(one, eps=1.0)[0]) == pytest.approx(1 / 6), "6 is what is used"


def test_failure_shares_add_up_to_half_of_delta() -> None:
    """Layer 1: rows of layers 1 and 2, layer 2: its own, for each of 7 samples."""
    found = failure_shares(TWO, samples=7, delta=0.1)
    assert found == pytest.approx([0.1 / (2 * 2 * 7 * 5), 0.1 / (2 * 2 * 7 * 2)])
    assert 7 * (5 * found[0] + 2 * found[1]) == pytest.approx(0.05)


def test_valid_count_by_hand() -> None:
    expected = sum(
        valid_count(eps=math.exp(eps), eta=eta)
        for eps, eta in zip(log_accuracies(TWO, eps=0.5), failure_shares(TWO, samples=7, delta=0.1), strict=True)
    )
    assert math.exp(log_valid_parameters(TWO, samples=7, eps=0.5, delta=0.1)) == pytest.approx(expected, rel=1e-12)


def test_printed_count_by_hand() -> None:
    """72 c^2 d^2 log(m d h / delta) / eps^2 * sum 1/(mu^2 mu->^2), c = 2, d = 2, m = 7, h = 3."""
    weights = 1 / (0.5 * 0.25) ** 2 + 1 / (0.8 * 0.5) ** 2
    expected = 72 * 4 * 4 * math.log(7 * 2 * 3 / 0.1) / 0.25 * weights
    assert math.exp(log_printed_parameters(TWO, samples=7, eps=0.5, delta=0.1)) == pytest.approx(expected, rel=1e-12)


def test_tiny_and_missing_cushions() -> None:
    """Where eps^2 would be too small for a float, and where no accuracy is left at all."""
    near = [log_count(math.log(1e-40), eta=0.01), log_count(-101.0, eta=0.01)]
    assert near[1] - near[0] == pytest.approx(2 * (101 - 40 * math.log(10)), rel=1e-9)
    assert log_count(-1000.0, eta=0.01) == pytest.approx(2000 + math.log(4 * math.log(400)))
    assert log_count(-math.inf, eta=0.01) == math.inf
    dead = make_stability(make_layer(cushion=0.0, interlayer=0.5), make_layer(cushion=1.0, interlayer=0.5))
    assert log_valid_parameters(dead, samples=7, eps=0.5, delta=0.1) == math.inf


def test_accuracy_of_lemma_10() -> None:
    """eps = gamma / (sqrt 2 max|f|), with max|f| = 3; never above 1."""
    assert accuracy_for_gamma(0.6, output_norm=3.0) == pytest.approx(0.6 / (math.sqrt(2) * 3))
    assert accuracy_for_gamma(90.0, output_norm=3.0) == 1.0


@dataclass(frozen=True)
class Case:
    """A chain with ReLU, where it is measured, and what is asked of its projection."""

    matrices: list[Matrix]
    inputs: Matrix
    biases: tuple[Matrix, ...] = ()
    eps: float = 0.5
    delta: float = 0.2
    draws: int = 300

    def stability(self, cushions: str = "with-bias") -> Stability:
        """As the product measures it."""
        x = self.inputs.astype(np.float32)
        data = as_data((x, np.arange(len(x)) % 2), classes=2)
        network = trace(chain(*self.matrices, biases=self.biases), data)
        structure = find_structure(network, torch.from_numpy(x))
        measures = measure(network, data, MeasureOptions(samples=len(x)))
        return read_stability(measures, structure, CushionOptions(cushions=cushions))

    def counts(self, stability: Stability) -> list[int]:
        shares = failure_shares(stability, samples=len(self.inputs), delta=self.delta)
        accuracies = log_accuracies(stability, eps=self.eps)
        return [math.ceil(math.exp(log_count(a, eta=s))) for a, s in zip(accuracies, shares, strict=True)]

    def failing_share(self, counts: list[int]) -> float:
        """Of the draws: |f - f^| > eps |f| on some sample."""
        generator = np.random.default_rng(11)
        exact = run_chain(self.matrices, self.inputs, self.biases)[-1]
        failures = 0
        for _ in range(self.draws):
            rough = [project(a, count=k, generator=generator) for a, k in zip(self.matrices, counts, strict=True)]
            off = run_chain(rough, self.inputs, self.biases)[-1] - exact
            failures += bool((np.linalg.norm(off, axis=1) > self.eps * np.linalg.norm(exact, axis=1)).any())
        return failures / self.draws


def test_cushions_of_the_simulated_network_by_loops() -> None:
    """All outputs are positive here: J^{1,2} = A_2, c = 1."""
    stability = Case(POSITIVE, INPUTS).stability()
    first, second = run_chain(POSITIVE, INPUTS)
    norm = np.linalg.norm
    mu = [
        min(norm(x) / (norm(POSITIVE[0]) * norm(h)) for x, h in zip(first, INPUTS, strict=True)),
        min(norm(x) / (norm(POSITIVE[1]) * norm(h)) for x, h in zip(second, first, strict=True)),
    ]
    ahead = min(norm(y) / (norm(POSITIVE[1]) * norm(x)) for x, y in zip(first, second, strict=True))
    assert [layer.cushion for layer in stability.layers] == pytest.approx(mu, rel=1e-5)
    interlayer = [min(1 / math.sqrt(3), ahead), 1 / math.sqrt(2)]
    assert [layer.interlayer for layer in stability.layers] == pytest.approx(interlayer, rel=1e-5)
    assert stability.contraction == pytest.approx(1.0)


def test_valid_count_keeps_its_promise() -> None:
    """|f - f^| <= eps |f| on every sample with probability 1 - delta/2; the premises hold: nothing crosses 0."""
    case = Case(POSITIVE, INPUTS)
    counts = case.counts(case.stability())
    assert case.failing_share(counts) <= case.delta / 2, "the union bound leaves room: none is expected to fail"
    assert case.failing_share([max(1, count // 5000) for count in counts]) > case.delta / 2, "the test can fail"


def test_with_biases_the_plain_cushions_break_the_promise() -> None:
    """The bias takes most of A h away. What is promised relative to |f| then needs the cushion of A h + b."""
    matrix, x = np.array([[1.0, 1.0], [2.0, 1.0]]), np.array([[0.7, 0.5]])
    case = Case([matrix], x, biases=(0.02 - (x @ matrix.T)[0],))
    plain, aware = case.stability("plain"), case.stability("with-bias")
    assert plain.biased
    assert not aware.biased
    assert case.failing_share(case.counts(plain)) > 0.5 > case.delta / 2
    assert case.failing_share(case.counts(aware)) <= case.delta / 2


def test_premises_tell_where_the_lemma_does_not_apply() -> None:
    layers = (make_layer(cushion=0.5, interlayer=0.5), make_layer(cushion=0.5, interlayer=0.5))
    said = {}
    for rho in (None, 2.1, 6.0):
        stability = make_stability(*layers, smoothness=rho, biased=rho == 2.1)
        facts = make_facts(np.eye(2), np.eye(2), stability=stability)
        said[rho] = {premise.text: premise for premise in RULES["arora-lemma-3"].premises(facts)}
    assert str(said[2.1]["rho >= 3d"]) == "rho >= 3d: fails, rho = 2.1, 3d = 6"
    assert said[6.0]["rho >= 3d"].holds is True
    assert said[None]["rho >= 3d"].holds is None
    biased = "cushions of outputs with bias, where there are biases"
    assert said[2.1][biased].holds is False
    assert said[6.0][biased].holds is True
