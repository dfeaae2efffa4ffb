"""The way back from noisy labels: against a simulation, against fractions, and where there is none."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netpact.certificates import clean_risk_bound
from netpact.certificates.noise import _KEPT
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, Data, add_label_noise
from netpact.datasets.noise import KINDS

COUNT = 200_000


def test_both_rooms_know_the_same_kinds() -> None:
    assert list(_KEPT) == list(KINDS)


@pytest.mark.parametrize(
    ("kind", "rate"), [("symmetric", 0.2), ("symmetric", 0.5), ("pair-flip", 0.2), ("pair-flip", 0.4)]
)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("mistake", ["next class", "any class"])
def test_simulated_noise(kind: str, rate: float, classes: int, mistake: str) -> None:
    if kind == "symmetric" and rate >= (classes - 1) / classes:
        return
    random = np.random.default_rng(7)
    labels = random.integers(0, classes, COUNT)
    wrong = random.random(COUNT) < 0.15
    away = 1 if mistake == "next class" else random.integers(1, classes, COUNT)
    answers = (labels + np.where(wrong, away, 0)) % classes
    samples = ArraySamples(np.zeros((COUNT, 1), dtype=np.float32), labels, "train", classes)
    noisy = add_label_noise(Data("own", classes, samples), kind=kind, rate=rate, seed=Seed(5)).train
    assert isinstance(noisy, ArraySamples)
    found = clean_risk_bound(float(np.mean(answers != noisy.labels)), kind=kind, rate=rate, classes=classes)
    slack = 5 * 0.5 / COUNT**0.5 / float(_KEPT[kind](Fraction(rate), classes))
    assert found >= wrong.mean() - slack
    # Exact for symmetric noise; for pairs where every mistake is the one that the noise can mend.
    if kind == "symmetric" or mistake == "next class" or classes == 2:
        assert found <= wrong.mean() + slack
    else:
        assert found > wrong.mean() + slack


@given(st.floats(0, 1), st.floats(0, 0.49), st.integers(2, 20))
def test_rounded_up_and_at_most_one(bound: float, rate: float, classes: int) -> None:
    if bound < rate:
        return
    for kind, kept in _KEPT.items():
        exact = (Fraction(bound) - Fraction(rate)) / kept(Fraction(rate), classes)
        found = clean_risk_bound(bound, kind=kind, rate=rate, classes=classes)
        above = exact * (1 + Fraction(1, 2**51)) + Fraction(1, 2**1000)
        assert min(Fraction(1), exact) <= Fraction(found) <= min(Fraction(1), above)


@pytest.mark.parametrize(
    ("bound", "kind", "rate", "classes", "message"),
    [
        (0.6, "pair-flip", 0.5, 10, "below a rate of 1/2"),
        (0.95, "symmetric", 0.9, 10, "below a rate of 9/10"),
        (0.1, "symmetric", 0.2, 10, "below the rate of noise is impossible"),
        (0.1, "pair", 0.2, 10, "allowed: symmetric, pair-flip"),
        (1.1, "symmetric", 0.2, 10, ">= 0 and <= 1"),
        (0.5, "symmetric", 0.2, 1, "classes"),
    ],
)
def test_no_way_back(bound: float, kind: str, rate: float, classes: int, message: str) -> None:
    with pytest.raises(PactError, match=message):
        clean_risk_bound(bound, kind=kind, rate=rate, classes=classes)
