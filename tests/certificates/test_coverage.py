"""The guarantee itself, by simulation: a finite problem whose true risks are known, and a learner that overfits."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binomtest

from netpact.certificates import FORMS, risk_bound
from netpact.core.seed import Seed

DELTA = 0.05
REPEATS = 10_000
SAMPLES = 60
# (codeword length, how many messages have it): the Kraft sum is 8/16 + 64/256 + 2048/8192 = 1.
CODE = ((4, 8), (8, 64), (13, 2048))


@dataclass(frozen=True)
class Simulation:
    """Per repeat: did the message that the learner picked break its bound, did any, and bound / true risk."""

    picked_broken: int
    any_broken: int
    median_ratio: float


def simulate(form: str, *, count_bits: bool) -> Simulation:
    """Draw REPEATS samples from a domain of 400 points; each message is a classifier with its own wrong points."""
    random = Seed(20).child("coverage").numpy()
    lengths = np.repeat([bits for bits, _ in CODE], [count for _, count in CODE])
    wrong = random.random((400, len(lengths))) < random.uniform(0.05, 0.5, len(lengths))
    weights = random.dirichlet(np.full(400, 5.0))
    risks = weights @ wrong
    bounds = np.array(
        [
            [risk_bound(errors=k, samples=SAMPLES, code_bits=bits, delta=DELTA, form=form) for k in range(SAMPLES + 1)]
            for bits in ([bits for bits, _ in CODE] if count_bits else [0] * len(CODE))
        ]
    )
    group = np.repeat(np.arange(len(CODE)), [count for _, count in CODE])
    picked_broken = any_broken = 0
    ratios = []
    for _ in range(REPEATS // 500):
        drawn = random.multinomial(SAMPLES, weights, size=500).astype(np.float32)
        errors = (drawn @ wrong.astype(np.float32)).round().astype(np.intp)
        stated = bounds[group, errors]
        best = stated.argmin(axis=1)
        chosen = stated[np.arange(500), best]
        picked_broken += int((chosen < risks[best]).sum())
        any_broken += int((stated < risks).any(axis=1).sum())
        ratios.append(chosen / risks[best])
    return Simulation(picked_broken, any_broken, float(np.median(np.concatenate(ratios))))


def assert_covered(simulation: Simulation) -> None:
    """Both counts are compatible with a failure probability of at most DELTA (one-sided binomial test)."""
    for name, broken in (("picked", simulation.picked_broken), ("any", simulation.any_broken)):
        p_value = binomtest(broken, REPEATS, DELTA, alternative="greater").pvalue
        assert p_value > 1e-3, (
            f"{name}: {broken} of {REPEATS} broken at delta {DELTA} (p = {p_value:.1e}); "
            f"median bound / true risk = {simulation.median_ratio:.3f}"
        )


@pytest.mark.parametrize("form", list(FORMS))
def test_a_learner_that_searches_the_code_stays_covered(form: str) -> None:
    simulation = simulate(form, count_bits=True)
    assert_covered(simulation)
    # A bound that says nothing would pass as well: this one is within a small factor of the truth.
    assert simulation.median_ratio < 5.0, simulation


def test_the_same_learner_breaks_a_bound_that_does_not_count_the_bits() -> None:
    simulation = simulate("exact", count_bits=False)
    with pytest.raises(AssertionError, match=r"picked: .* median bound / true risk"):
        assert_covered(simulation)
    assert binomtest(simulation.picked_broken, REPEATS, DELTA, alternative="greater").pvalue < 1e-12


def test_one_fixed_classifier_comes_close_to_delta() -> None:
    """With a single message of no bits the exact form is nearly tight: no form could be smaller at every count."""
    random = Seed(21).child("coverage").numpy()
    risk = 0.2
    stated = np.array([risk_bound(errors=k, samples=200, code_bits=0, delta=DELTA) for k in range(201)])
    broken = int((stated[random.binomial(200, risk, REPEATS)] < risk).sum())
    assert binomtest(broken, REPEATS, DELTA, alternative="greater").pvalue > 1e-3, broken
    assert broken > 0.03 * REPEATS, f"{broken} of {REPEATS}: far looser than an exact inversion"
