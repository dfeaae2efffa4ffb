"""Definitions 1 and 2, the factor 2, and Theorem 2.1 with its constants on a class whose risks are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from bounds.bound_examples import some_data
from scipy import stats
from torch import nn

from netpact import PactError
from netpact.bounds import compressible, finite_class_bound, margin_used


class Constant(nn.Module):
    """The same logits for every input."""

    def __init__(self, *logits: float) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.logits.expand(len(x), -1)


def margin(logits: tuple[float, float]) -> float:
    """Of class 0."""
    return logits[0] - logits[1]


def test_factor_two_of_definition_1() -> None:
    """f = (1.5, 0) has margin 1.5 > gamma = 1 and g = (0.5, 1) is within gamma of it, but g errs on class 0."""
    f, g = (1.5, 0.0), (0.5, 1.0)
    found = compressible(Constant(*f), Constant(*g), some_data(inputs=2, classes=2, count=5).train, 1.0)
    assert found.worst == 1.0
    assert margin(f) > 1.0
    assert margin(g) < 0, "so Definition 1 as printed does not give L_0(g) <= L_gamma(f)"
    assert found.holds_printed
    assert not found.holds
    assert found.zeta == 1.0


def test_margin_used_is_reached_and_never_exceeded() -> None:
    assert margin_used(1.0, norm="sup") == 2.0
    assert margin_used(1.0, norm="l2") == pytest.approx(math.sqrt(2.0))
    assert margin_used(1.0, norm="l2") >= math.sqrt(2.0)
    generator = np.random.default_rng(0)
    worst = {"sup": 0.0, "l2": 0.0}
    for _ in range(2000):
        f, step = generator.normal(size=(2, 3))
        moved = abs((step[0] + f[0] - f[1] - step[1]) - (f[0] - f[1]))
        for norm, size in (("sup", np.abs(step).max()), ("l2", np.linalg.norm(step))):
            worst[norm] = max(worst[norm], moved / margin_used(float(size), norm=norm))
    assert 0.95 < worst["sup"] <= 1 + 1e-12
    assert 0.95 < worst["l2"] <= 1 + 1e-12
    with pytest.raises(PactError, match="sup, l2"):
        margin_used(1.0, norm="l1")
    with pytest.raises(PactError, match=">= 0"):
        margin_used(math.nan, norm="l2")


def test_share_of_samples_that_fail() -> None:
    """f = (x, 0), g = 0: |f - g| = x, and gamma / 2 = 0.5 is passed by two of five samples."""

    class First(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cat([x, torch.zeros_like(x)], dim=1)

    x = np.array([[0.1], [0.5], [0.6], [0.2], [0.9]], dtype=np.float32)
    found = compressible(First(), Constant(0.0, 0.0), (x, np.array([0, 1, 0, 1, 0])), 1.0)
    assert found.zeta == pytest.approx(0.4)
    assert found.worst == pytest.approx(0.9)
    assert not found.holds
    assert "60.00 %" in str(found)
    record = found.to_json()
    assert record["holds"] is False
    assert record["samples"] == 5
    within = compressible(First(), Constant(0.0, 0.0), (x, np.array([0, 1, 0, 1, 0])), 1.8)
    assert within.holds
    assert within.zeta == 0


def test_bad_inputs_of_compressible() -> None:
    samples = some_data(inputs=2, classes=2, count=3).train
    with pytest.raises(PactError, match="> 0"):
        compressible(Constant(1.0, 2.0), Constant(1.0, 2.0), samples, 0.0)
    with pytest.raises(PactError, match="shape"):
        compressible(Constant(1.0, 2.0), Constant(1.0, 2.0, 3.0), samples, 1.0)
    with pytest.raises(PactError, match="sample 0"):
        compressible(Constant(1.0, math.inf), Constant(1.0, 2.0), samples, 1.0)


def violations(*, samples: int, count: int, risk: float, delta: float | None, log_count: float) -> int:
    """How often the bound fails for the classifier of a class that errs least on the sample; 4000 samples are drawn."""
    errors = np.random.default_rng(7).binomial(samples, risk, size=(4000, count)).min(axis=1)
    bounds = [
        finite_class_bound(margin_loss=e / samples, log_count=log_count, samples=samples, delta=delta) for e in errors
    ]
    return sum(risk > bound for bound in bounds)


def test_theorem_2_1_holds_on_a_class_with_a_known_risk() -> None:
    """50 classifiers that err independently with probability 0.5; the one that looks best is chosen."""
    size = math.log(50)
    valid = violations(samples=60, count=50, risk=0.5, delta=0.1, log_count=size)
    assert stats.binomtest(valid, 4000, 0.1, alternative="greater").pvalue > 0.01
    # The printed form's own failure probability: 1/50.
    printed = violations(samples=60, count=50, risk=0.5, delta=None, log_count=size)
    assert stats.binomtest(printed, 4000, 1 / 50, alternative="greater").pvalue > 0.01
    # Without the union over the class the same choice breaks it.
    assert violations(samples=60, count=50, risk=0.5, delta=0.1, log_count=0.0) > 1200


def test_theorem_2_1_by_hand() -> None:
    """q = 10 parameters of r = 16 values, m = 200, delta = 1/20, zeta = 0.01."""
    count = 10 * math.log(16)
    valid = finite_class_bound(margin_loss=0.1, log_count=count, samples=200, delta=0.05, zeta=0.01)
    assert valid == pytest.approx(0.11 + math.sqrt((count + math.log(20)) / 400), rel=1e-14)
    printed = finite_class_bound(margin_loss=0.1, log_count=count, samples=200, delta=None)
    assert printed == pytest.approx(0.1 + math.sqrt(count / 200), rel=1e-14)
    with pytest.raises(PactError, match="samples: must be an integer >= 1"):
        finite_class_bound(margin_loss=0.1, log_count=count, samples=0, delta=0.05)
    with pytest.raises(PactError, match="delta"):
        finite_class_bound(margin_loss=0.1, log_count=count, samples=10, delta=1.0)


def test_corollary_a_1_adds_zeta_to_what_the_compressed_network_does() -> None:
    """L_0(g) <= L_gamma(f) + zeta on any sample, with the factor 2: random logits, counted."""
    generator = np.random.default_rng(5)
    for gamma in (0.2, 0.7, 1.5):
        f = generator.normal(size=(400, 3))
        g = f + generator.normal(scale=0.3, size=f.shape)
        y = generator.integers(0, 3, 400)
        rows = np.arange(400)

        def margins(z: np.ndarray, y: np.ndarray = y, rows: np.ndarray = rows) -> np.ndarray:
            others = z.copy()
            others[rows, y] = -np.inf
            return z[rows, y] - others.max(axis=1)

        errors = np.abs(f - g).max(axis=1)
        zeta = np.mean([margin_used(float(error), norm="sup") > gamma for error in errors])
        assert np.mean(margins(g) <= 0) <= np.mean(margins(f) <= gamma) + zeta
