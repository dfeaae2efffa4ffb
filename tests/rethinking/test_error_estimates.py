"""Theorems 1 to 3 and Corollaries 2 to 4: sourced formulas again, monotone in everything, and their inverse."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import netpact
from netpact.core.errors import PactError
from netpact.papers.rethinking.statistics import Conditions, InputCovariance, Isometry, ModelComplexity

SIZES: dict[str, Any] = {"kernel": (3, 2), "pooled": (2, 2)}
KINDS: dict[str, dict[str, Any]] = {
    "cnn": {"kernels": 2},
    "tucker": {"ranks": (2, 2, 1)},
    "cp": {"ranks": 2},
}
CONDITIONS = Conditions(
    isometry=Isometry(0.5, 2.0),
    inputs=InputCovariance(0.25, 4.0),
    noise_std=0.5,
    curvature=0.1,
    slack=3.0,
    c_h=0.2,
    c=0.3,
    c_gamma=0.4,
)
ALL = [(kind, task) for kind in KINDS for task in ("regression", "binary", "multiclass")]


def of(kind: str, task: str = "regression") -> ModelComplexity:
    classes: dict[str, Any] = {"classes": 4} if task == "multiclass" else {}
    return netpact.model_complexity(kind, **SIZES, **KINDS[kind], task=task, **classes)


def test_theorem_1_by_hand() -> None:
    """kappa_L = 1/8, kappa_U = 8, d = 2 (4 + 6 + 1) = 22."""
    found = netpact.estimation_error(of("cnn"), CONDITIONS, samples=100)
    roots = math.sqrt(22 / 100) + math.sqrt(3 / 100)
    assert found.theorem == "Theorem 1"
    assert found.weights == pytest.approx(16 * 0.5 * math.sqrt(12) / (1 / 16) * roots)
    assert found.empirical == pytest.approx(16 * 0.5 * 12 / (1 / 16) * roots)
    assert found.prediction == pytest.approx(math.sqrt(8) * found.weights)
    assert found.test == pytest.approx(math.sqrt(found.prediction**2 + 0.25))
    rate = 0.2 * (0.25 / 64) ** 2
    wanted = 1 - 4 * math.exp(9 * 22 - rate * 10**9) - math.exp(-22 - 24)
    assert netpact.estimation_error(of("cnn"), CONDITIONS, samples=10**9).probability == pytest.approx(wanted)


@pytest.mark.parametrize(("kind", "d"), [("tucker", 4 + 6 + 4 + 4), ("cp", 8 + 2 * (5 + 4))])
def test_theorem_2_by_hand(kind: str, d: int) -> None:
    """c_N = 2^(N + 1) ln(N + 2) with N = 2."""
    found = netpact.estimation_error(of(kind), CONDITIONS, samples=100)
    roots = math.sqrt(8 * math.log(4) * d / 100) + math.sqrt(3 / 100)
    assert found.theorem == "Theorem 2"
    assert found.weights == pytest.approx(16 * 0.5 * math.sqrt(12) / (1 / 16) * roots)


@pytest.mark.parametrize(
    ("kind", "task", "theorem", "growth", "d"),
    [
        ("cnn", "binary", "Theorem 3", 1.0, 22),
        ("cnn", "multiclass", "Corollary 3", 1.0, 2 * (16 + 6 + 1)),
        ("tucker", "binary", "Corollary 2", 24 * math.log(4), 18),
        ("cp", "multiclass", "Corollary 4", 24 * math.log(4), 8 + 2 * (5 + 16)),
    ],
)
def test_classification_by_hand(kind: str, task: str, theorem: str, growth: float, d: int) -> None:
    found = netpact.estimation_error(of(kind, task), CONDITIONS, samples=5000)
    roots = math.sqrt(growth * d / 5000) + math.sqrt(3 / 5000)
    assert found.theorem == theorem
    assert found.weights == pytest.approx(2 * math.sqrt(8) / 0.1 * roots)
    assert found.empirical is None
    assert found.test is None
    assert [premise.text for premise in found.premises if premise.holds is False] == [
        "Assumption 4 (C2): H(W*) >= kappa_0 with kappa_0 > kappa_U"
    ]


def numbers(complexity: ModelComplexity, conditions: Conditions, samples: int = 1000) -> list[float]:
    found = netpact.estimation_error(complexity, conditions, samples=samples)
    return [one for one in (found.weights, found.empirical, found.prediction, found.test) if one is not None]


@pytest.mark.parametrize(("kind", "task"), ALL)
def test_monotone_in_every_argument(kind: str, task: str) -> None:
    model = of(kind, task)
    usual = numbers(model, CONDITIONS)
    larger = [
        numbers(replace(model, complexity=model.complexity + 1), CONDITIONS),
        numbers(model, CONDITIONS, samples=999),
        numbers(model, replace(CONDITIONS, slack=3.1)),
        numbers(model, replace(CONDITIONS, isometry=Isometry(0.5, 2.1))),
        numbers(model, replace(CONDITIONS, inputs=InputCovariance(0.25, 4.1))),
    ]
    if task == "regression":
        larger += [
            numbers(model, replace(CONDITIONS, noise_std=0.6)),
            numbers(model, replace(CONDITIONS, isometry=Isometry(0.4, 2.0))),
            numbers(model, replace(CONDITIONS, inputs=InputCovariance(0.2, 4.0))),
        ]
    else:
        larger.append(numbers(model, replace(CONDITIONS, curvature=0.09)))
    for changed in larger:
        assert all(after > before for after, before in zip(changed, usual, strict=True))


@pytest.mark.parametrize(("kind", "task"), ALL)
def test_the_probability_grows_with_samples_and_slack(kind: str, task: str) -> None:
    sure = replace(CONDITIONS, c_h=100.0, slack=0.01)

    def likely(n: int, conditions: Conditions) -> float:
        found = netpact.estimation_error(of(kind, task), conditions, samples=n).probability
        assert found is not None
        return found

    samples = netpact.sample_size(of(kind, task), sure, error=1e9, delta=0.5).samples
    assert likely(samples - 1, sure) < 0.5 <= likely(samples, sure)
    assert likely(10 * samples, sure) <= likely(10 * samples, replace(sure, slack=2.0))
    assert likely(10 * samples, sure) < 1 or kind != "cnn"
    assert netpact.estimation_error(of(kind, task), replace(sure, c_h=None, c=None), samples=9).probability is None


@pytest.mark.parametrize(("kind", "task"), ALL)
@pytest.mark.parametrize("error", [1e-9, 0.01, 0.37, 2.0, 1e6])
def test_sample_size_inverts_the_bound(kind: str, task: str, error: float) -> None:
    model = of(kind, task)
    found = netpact.sample_size(model, CONDITIONS, error=error)
    assert found.estimate.samples == found.samples == int(found)
    assert found.estimate.prediction <= error
    if 1 < found.samples < 2**50:
        assert netpact.estimation_error(model, CONDITIONS, samples=found.samples - 1).prediction > error
    elif found.samples > 1:
        fewer = netpact.estimation_error(model, CONDITIONS, samples=found.samples - found.samples // 2**40)
        assert fewer.prediction > error


def test_half_the_error_takes_four_times_the_samples() -> None:
    one, half = (int(netpact.sample_size(of("cnn"), CONDITIONS, error=error)) for error in (0.1, 0.05))
    assert half / one == pytest.approx(4, rel=1e-6)


def test_the_bound_is_a_law_in_a_simulation() -> None:
    """Least squares on independent Gaussian inputs with one pixel a kernel: the error is far below the bound."""
    rng, n, sigma = np.random.default_rng(0), 200, 1.0
    model = netpact.model_complexity("cnn", kernel=(1,), pooled=(6,), kernels=1)
    conditions = Conditions(isometry=Isometry(1.0, 1.0), inputs=InputCovariance.independent(), noise_std=sigma)
    bound = netpact.estimation_error(model, conditions, samples=n)
    ratios = []
    for _ in range(50):
        x, truth = rng.standard_normal((n, 6)), rng.standard_normal(6)
        found = np.linalg.lstsq(x, x @ truth + sigma * rng.standard_normal(n), rcond=None)[0]
        ratios.append(np.linalg.norm(found - truth) / bound.weights)
    assert max(ratios) <= 1
    # d_M is 8 where 6 numbers are free: sqrt(6 / n) / (16 sqrt(1.5) / 0.5 (sqrt(8 / n) + sqrt(1 / n))) = 0.0163
    assert np.median(ratios) == pytest.approx(0.0163, rel=0.15)


def test_the_records() -> None:
    found = netpact.sample_size(of("tucker"), CONDITIONS, error=0.5, delta=0.1)
    record = json.loads(json.dumps(found.to_json()))
    assert record["kind"] == record["estimate"]["kind"] == "estimate"
    assert record["estimate"]["conditions"]["kappa_U"] == 8
    assert record["estimate"]["complexity"]["ranks"] == [2, 2, 1]
    text = str(found)
    assert "samples for a prediction error of 0.5 with probability 0.9" in text
    assert "Theorem 2" in text
    assert len(text.splitlines()) < 24, "one screen"
    assert "proven='nothing'" in repr(netpact.sample_size(of("cnn"), CONDITIONS, error=0.5)) or "..." in repr(found)
    vague = netpact.estimation_error(of("cnn"), CONDITIONS, samples=5)
    assert "probability                  none" in str(vague)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"isometry": Isometry(0.0, 1.0)}, "c_u = 0"),
        ({"isometry": (0.5, 1.0)}, "must be an Isometry"),
        ({"inputs": None}, "must be an InputCovariance"),
        ({"noise_std": 0.0}, "noise_std: must be a finite number > 0"),
        ({"slack": 0.0}, "slack"),
        ({"slack": math.inf}, "slack"),
        ({"curvature": -1.0}, "curvature"),
        ({"c_h": 0}, "c_h"),
    ],
)
def test_wrong_conditions(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(PactError, match=said):
        replace(CONDITIONS, **changed)


def test_what_a_theorem_needs_is_asked_for() -> None:
    with pytest.raises(PactError, match="standard deviation of the noise"):
        netpact.estimation_error(of("cnn"), replace(CONDITIONS, noise_std=None), samples=5)
    with pytest.raises(PactError, match="kappa_1"):
        netpact.estimation_error(of("cnn", "binary"), replace(CONDITIONS, curvature=None), samples=5)
    with pytest.raises(PactError, match="universal constants: c_h"):
        netpact.sample_size(of("cnn"), replace(CONDITIONS, c_h=None), error=1.0, delta=0.1)
    with pytest.raises(PactError, match="larger slack"):
        netpact.sample_size(of("cnn", "binary"), replace(CONDITIONS, c_gamma=1e-6, slack=1e-6), error=1.0, delta=0.01)
    with pytest.raises(PactError, match="samples: must be an integer >= 1"):
        netpact.estimation_error(of("cnn"), CONDITIONS, samples=0)
    with pytest.raises(PactError, match="error"):
        netpact.sample_size(of("cnn"), CONDITIONS, error=0.0)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: InputCovariance(0.0, 1.0), "inputs, least"),
        (lambda: InputCovariance(2.0, 1.0), "inputs, largest"),
        (lambda: InputCovariance.independent(0.0), "std"),
        (lambda: InputCovariance.from_covariance(np.ones((2, 3))), "square matrix"),
        (lambda: InputCovariance.from_covariance("x"), "square matrix"),
        (lambda: InputCovariance.from_covariance(np.ones((2, 2))), "positive definite"),
        (lambda: InputCovariance.from_covariance([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (lambda: InputCovariance.from_var(np.eye(2)), "spectral norm must be below 1"),
        (lambda: InputCovariance.from_var(np.full((2, 2), np.nan)), "not finite"),
        (lambda: Isometry(2.0, 1.0), "isometry, largest"),
    ],
)
def test_wrong_inputs(make: Any, said: str) -> None:
    with pytest.raises(PactError, match=said):
        make()


def test_a_covariance_gives_its_extreme_eigenvalues() -> None:
    found = InputCovariance.from_covariance([[2.0, 1.0], [1.0, 2.0]])
    assert (found.least, found.largest) == pytest.approx((1.0, 3.0))
