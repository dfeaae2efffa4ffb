"""The guarantees on fresh samples by simulation, on problems whose true rates are known; alone and all at once."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from scipy.stats import binomtest
from torch import nn

from netpact.certificates import joint_delta, risk_bound
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, Data
from netpact.models import build, parse_model
from netpact.network import AsRun
from netpact.pacts.fresh import certify_hold_out
from netpact.pacts.fresh.disagreement import count_disagreements

DELTA, REPEATS, TRAIN, FRESH = 0.05, 10_000, 60, 90
CODE = ((4, 8), (8, 128))  # codeword length, how many messages: the Kraft sum is 1


def is_covered(failures: int, delta: float, repeats: int = REPEATS) -> bool:
    return bool(binomtest(failures, repeats, min(1.0, delta), alternative="greater").pvalue > 1e-3)


def table(samples: int, *, bits: int = 0, delta: float = DELTA) -> np.ndarray:
    return np.array([risk_bound(errors=k, samples=samples, code_bits=bits, delta=delta) for k in range(samples + 1)])


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.5])
def test_one_rate_alone_comes_close_to_delta(rate: float) -> None:
    """Errors or disagreements of fixed networks: the bound fails nearly delta of the time, not more."""
    drawn = Seed(41).child("alone", rate).numpy().binomial(400, rate, REPEATS)
    failures = int((table(400)[drawn] < rate).sum())
    assert is_covered(failures, DELTA)
    assert failures > 0.3 * DELTA * REPEATS
    weakened = int((table(400, delta=3 * DELTA)[drawn] < rate).sum())
    assert not is_covered(weakened, DELTA), "a bound at 3 delta must not pass for one at delta"


@cache
def failures(*, fresh_labels: bool = True) -> dict[str, np.ndarray]:
    """Which statements fail in each repetition. The learner searches the whole code on the training sample.

    fresh_labels  False: the hold-out samples are the training samples, which netpact refuses
    """
    random = Seed(42).child("joint").numpy()
    lengths = np.repeat([bits for bits, _ in CODE], [count for _, count in CODE])
    points, messages = 300, len(lengths)
    wrong = random.random((points, messages)) < 0.35
    differ = random.random((points, messages)) < 0.2
    original_wrong = wrong ^ (differ & (random.random((points, messages)) < 0.8))
    weights = random.dirichlet(np.full(points, 5.0))
    group = np.repeat(np.arange(len(CODE)), [count for _, count in CODE])
    paid = np.array([table(TRAIN, bits=bits) for bits, _ in CODE])
    drawn = random.multinomial(TRAIN, weights, size=REPEATS)
    errors = drawn @ wrong
    best = errors.argmin(axis=1)
    later, unlabelled = (random.multinomial(FRESH, weights, size=REPEATS) for _ in range(2))

    def count(sample: np.ndarray, what: np.ndarray) -> np.ndarray:
        return (sample * what[:, best].T).sum(axis=1)

    held = table(FRESH)[count(later, wrong)] if fresh_labels else table(TRAIN)[errors[np.arange(REPEATS), best]]
    return {
        "certificate": paid[group[best], errors[np.arange(REPEATS), best]] < (weights @ wrong)[best],
        "hold_out": held < (weights @ wrong)[best],
        "original_hold_out": table(FRESH)[count(later, original_wrong)] < (weights @ original_wrong)[best],
        "fidelity": table(FRESH)[count(unlabelled, differ)] < (weights @ differ)[best],
    }


@pytest.mark.parametrize("name", ["certificate", "hold_out", "original_hold_out", "fidelity"])
def test_each_statement_of_a_searched_network_holds(name: str) -> None:
    assert is_covered(int(failures()[name].sum()), DELTA)


def test_all_at_once_hold_with_the_sum_and_not_with_less() -> None:
    class Stated:
        delta = DELTA

    together = np.any(list(failures().values()), axis=0)
    assert is_covered(int(together.sum()), joint_delta([Stated()] * 4))  # type: ignore[list-item]
    assert not is_covered(int(together.sum()), DELTA), "the three fail separately: one delta is too little for all"


def test_samples_that_the_search_has_seen_give_no_bound_without_bits() -> None:
    """Why an overlap is refused: the least of 136 error counts is no fair draw."""
    assert not is_covered(int(failures(fresh_labels=False)["hold_out"].sum()), DELTA)


def faulty(rate: float) -> nn.Module:
    """Class 0 exactly where the first of two uniform numbers is at least the rate."""
    module = build(parse_model("linear", input_shape=(2,), classes=2))
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            values = [[1.0, 0.0], [-1.0, 0.0]] if name.endswith("weight") else [-rate, rate]
            parameter.copy_(torch.tensor(values))
    return module


@pytest.mark.parametrize("arithmetic", ["float32", "as-run"])
def test_the_whole_way_from_samples_to_the_bound(arithmetic: str) -> None:
    """The risk of the network is known, and its statements are made by the functions that users call."""
    rate, repeats, delta, size = 0.2, 60, 0.25, 40
    random = Seed(43).child(arithmetic).numpy()
    module, perfect = faulty(rate), faulty(0.0)
    used = Data("used", 2, ArraySamples(np.full((2, 2), 7.0, dtype=np.float32), np.array([0, 1]), "used", 2))
    low_risk = low_rate = 0
    for _ in range(repeats):
        x = random.random((size, 2), dtype=np.float32)
        held = ArraySamples(x, np.zeros(size, dtype=np.int64), "held", 2)
        stated = certify_hold_out(module, held, used, delta=delta, arithmetic=arithmetic)
        low_risk += stated.bound < rate
        disagreements = count_disagreements(AsRun(module), AsRun(perfect), held).disagreements
        low_rate += risk_bound(errors=disagreements, samples=size, code_bits=0, delta=delta) < rate
    assert is_covered(low_risk, delta, repeats)
    assert is_covered(low_rate, delta, repeats)
    assert low_risk > 0.2 * delta * repeats
