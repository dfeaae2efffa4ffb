"""The guarantee about the original network by simulation, on a finite problem whose true risks are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from netpact.certificates import add_bounds, risk_bound
from netpact.core.seed import Seed

DELTA, REPEATS, LABELLED, FRESH = 0.05, 10_000, 60, 80
# (codeword length, how many messages): the Kraft sum is 8/16 + 128/256 = 1.
CODE = ((4, 8), (8, 128))


def broken(*, with_disagreement: bool) -> int:
    """How often the stated bound lies below the true risk of the original that belongs to the message picked.

    Each message g has an original f that differs from it on points of its own, mostly where g is right.
    """
    random = Seed(22).child("coverage").numpy()
    lengths = np.repeat([bits for bits, _ in CODE], [count for _, count in CODE])
    points, messages = 400, len(lengths)
    wrong = random.random((points, messages)) < random.uniform(0.05, 0.5, messages)
    differ = random.random((points, messages)) < 0.25
    # Where they differ and g is right, f is wrong; where g is wrong, f may be right: the worst case for f.
    original_wrong = np.where(differ, True, wrong)
    weights = random.dirichlet(np.full(points, 5.0))
    risks = weights @ original_wrong
    first = np.array(
        [
            [risk_bound(errors=k, samples=LABELLED, code_bits=bits, delta=DELTA / 2) for k in range(LABELLED + 1)]
            for bits, _ in CODE
        ]
    )
    second = np.array([risk_bound(errors=k, samples=FRESH, code_bits=0, delta=DELTA / 2) for k in range(FRESH + 1)])
    group = np.repeat(np.arange(len(CODE)), [count for _, count in CODE])
    errors = random.multinomial(LABELLED, weights, size=REPEATS) @ wrong
    stated = first[group, errors]
    best = stated.argmin(axis=1)  # the learner searches the whole code
    drawn = random.multinomial(FRESH, weights, size=REPEATS)
    disagreements = (drawn * differ[:, best].T).sum(axis=1)
    failures = 0
    for place in range(REPEATS):
        share = float(second[disagreements[place]]) if with_disagreement else 0.0
        bound = add_bounds(compressed_bound=float(stated[place, best[place]]), disagreement_bound=share)
        failures += bound < risks[best[place]]
    return failures


def is_covered(failures: int) -> bool:
    return bool(binomtest(failures, REPEATS, DELTA, alternative="greater").pvalue > 1e-3)


def test_the_sum_of_both_bounds_covers_the_original() -> None:
    assert is_covered(broken(with_disagreement=True))


def test_without_the_disagreement_the_original_is_not_covered() -> None:
    failures = broken(with_disagreement=False)
    assert not is_covered(failures), failures


@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_the_disagreement_alone_comes_close_to_its_half(rate: float) -> None:
    """With one fixed pair of networks the second part fails nearly delta / 2 of the time, and not more."""
    stated = np.array([risk_bound(errors=k, samples=400, code_bits=0, delta=DELTA / 2) for k in range(401)])
    drawn = Seed(23).child("coverage", rate).numpy().binomial(400, rate, REPEATS)
    failures = int((stated[drawn] < rate).sum())
    assert binomtest(failures, REPEATS, DELTA / 2, alternative="greater").pvalue > 1e-3
    assert failures > 0.008 * REPEATS
