"""The guarantee with a data-dependent prior, by simulation on problems whose true risks are known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from netpact.certificates import risk_bound
from netpact.coding.format import Pact, seal
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, Data, Samples, Split
from netpact.methods import QuantizeDifference, compress
from netpact.models import build, parse_model
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.priors import Base, ground
from netpact.training import Recipe

DELTA, REPEATS, SAMPLES, POINTS = 0.05, 1500, 80, 60
# (codeword length, how many differences from the helper have it): the Kraft sum is 1/2 + 16/64 + 64/256 = 1.
CODE = ((1, 1), (6, 16), (8, 64))
BITS = np.repeat([bits for bits, _ in CODE], [count for _, count in CODE])
COUNTERS, COUNTER_BITS = 4, 2


def bound_table(samples: int, extra_bits: int) -> NDArray[np.float64]:
    def bound(errors: int, bits: int) -> float:
        return risk_bound(errors=errors, samples=samples, code_bits=bits + extra_bits, delta=DELTA)

    rows = np.array([[bound(errors, bits) for errors in range(samples + 1)] for bits, _ in CODE])
    return np.repeat(rows, [count for _, count in CODE], axis=0)


def broken(*, leave_out: bool) -> int:
    """How often the learner's stated bound lies below the true risk of what it picked.

    There are POINTS inputs with random labels. The helper learns its part of the sample by heart; a message flips the
    answer on inputs of its own. The learner takes the best bound over all messages and over the split's counter.
    """
    random = Seed(31).child("coverage").numpy()
    weights, chance = random.dirichlet(np.full(POINTS, 5.0)), random.uniform(0.2, 0.8, POINTS)
    flips = random.random((len(BITS), POINTS)) < 0.15
    flips[0] = False  # the shortest message is the helper itself
    parts = [Split(50, counter).indices(SAMPLES) for counter in range(COUNTERS)]
    table = bound_table(SAMPLES // 2 if leave_out else SAMPLES, COUNTER_BITS)
    failures = 0
    for _ in range(REPEATS):
        x = random.choice(POINTS, SAMPLES, p=weights)
        y = random.random(SAMPLES) < chance[x]
        best, risk = 2.0, 0.0
        for seen, certified in parts:
            votes = np.bincount(x[seen], weights=np.where(y[seen], 1.0, -1.0), minlength=POINTS)
            answers = (votes > 0) ^ flips
            counted = certified if leave_out else slice(None)
            stated = table[np.arange(len(BITS)), (answers[:, x[counted]] != y[counted]).sum(axis=1)]
            pick = int(stated.argmin())
            if stated[pick] < best:
                best = float(stated[pick])
                risk = float(weights @ np.where(answers[pick], 1 - chance, chance))
        failures += best < risk
    return failures


def is_covered(failures: int, *, repeats: int = REPEATS, delta: float = DELTA) -> bool:
    return bool(binomtest(failures, repeats, delta, alternative="greater").pvalue > 1e-3)


def test_a_learner_that_searches_messages_and_splits_stays_covered() -> None:
    failures = broken(leave_out=True)
    assert is_covered(failures), failures


def test_a_bound_that_also_counts_on_the_helpers_samples_is_broken() -> None:
    failures = broken(leave_out=False)
    assert not is_covered(failures), failures


def best_of_many_splits(*, pay: bool) -> int:
    """The helper alone, by the best of 64 splits: how often the hold-out bound is broken."""
    random, counters = Seed(32).child("coverage").numpy(), 64
    parts = [Split(50, counter).indices(SAMPLES) for counter in range(counters)]
    bits = counters.bit_length() - 1 if pay else 0
    half = SAMPLES // 2
    table = [risk_bound(errors=k, samples=half, code_bits=bits, delta=DELTA) for k in range(half + 1)]
    failures = 0
    for _ in range(REPEATS // 2):
        x, y = random.integers(POINTS, size=SAMPLES), random.random(SAMPLES) < 0.5
        least = half
        for seen, certified in parts:
            votes = np.bincount(x[seen], weights=np.where(y[seen], 1.0, -1.0), minlength=POINTS)
            least = min(least, int(((votes > 0)[x[certified]] != y[certified]).sum()))
        failures += table[least] < 0.5  # the labels are coins: every answer has this risk
    return failures


def test_choosing_the_split_by_looking_has_to_be_paid_for() -> None:
    assert is_covered(best_of_many_splits(pay=True), repeats=REPEATS // 2)
    assert not is_covered(best_of_many_splits(pay=False), repeats=REPEATS // 2)


# The same once more with real files: a linear network on unit vectors is a table of answers.
INPUTS, DRAWN, FILES, FILE_DELTA = 64, 80, 100, 0.1
RECIPE = Recipe("linear", split=Split(50, 1))


def memorise(x: NDArray[np.int64], y: NDArray[np.int64], data: Data) -> Base:
    seen, _ = RECIPE.split.indices(len(x))
    answers = np.bincount(x[seen], weights=2 * y[seen] - 1, minlength=INPUTS) > 0
    row = np.where(answers, np.float32(1), np.float32(-1))
    tensors = {"fc1.weight": np.stack([-row, row]), "fc1.bias": np.zeros(2, dtype=np.float32)}
    return Base("table", tensors, data.train.fingerprint(), RECIPE)


@pytest.fixture(scope="module")
def message() -> Pact:
    """The helper as it is: the message does not depend on what the helper has learned."""
    vectors = Data("v", 2, ArraySamples(np.eye(INPUTS, dtype=np.float32), np.arange(INPUTS) % 2, "v", 2))
    network = build(parse_model("linear", input_shape=(INPUTS,), classes=2))
    tensors = {name: parameter.detach().numpy() for name, parameter in network.named_parameters()}
    base = Base("table", tensors, vectors.train.fingerprint(), RECIPE)
    return seal(compress(trace(network, vectors), QuantizeDifference(base)))


def files_broken(message: Pact) -> int:
    random = Seed(33).child("coverage").numpy()
    failures = 0
    for _ in range(FILES):
        x, y = random.integers(INPUTS, size=DRAWN), random.integers(2, size=DRAWN)
        data = Data("coins", 2, ArraySamples(np.eye(INPUTS, dtype=np.float32)[x], y, "coins", 2))
        certificate = certify(message, data, base=memorise(x, y, data), delta=FILE_DELTA, repeats=True).certificate
        assert certificate is not None
        assert certificate.helper is not None
        assert certificate.bound >= certificate.helper.bound
        failures += certificate.helper.bound < 0.5
    return failures


def test_certified_hold_out_bounds_are_covered(message: Pact) -> None:
    failures = files_broken(message)
    assert is_covered(failures, repeats=FILES, delta=FILE_DELTA), failures
    assert failures > 0, "a bound that is never broken at delta = 0.1 says little"


def test_they_are_not_when_certify_leaves_nothing_out(message: Pact, monkeypatch: pytest.MonkeyPatch) -> None:
    def nearly_everything(samples: Samples, split: Split) -> tuple[Samples, Samples]:
        assert isinstance(samples, ArraySamples)
        return samples, samples.take(slice(1, None), name="all but one")

    monkeypatch.setattr(ground, "set_aside", nearly_everything)
    failures = files_broken(message)
    assert not is_covered(failures, repeats=FILES, delta=FILE_DELTA), failures
