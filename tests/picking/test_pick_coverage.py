"""The guarantee by simulation: a problem whose risks are known, noisy labels, few samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from netpact import PickRecipe
from netpact.certificates import selection_bound
from netpact.picking.kernel import Kernel
from netpact.picking.learner import select
from netpact.picking.recipe_bytes import ORDERS

DELTA, REPEATS, SAMPLES = 0.05, 400, 40
FEW, PLACES, MESSAGE_BITS = 60, 256, 16  # of a message that changes the classifier


def simulate(recipe: PickRecipe) -> list[tuple[int, int, float]]:
    """(picked, wrong, true risk) of many runs. Inputs: 64 places on a line, each with its probability of class 1."""
    draw = np.random.default_rng(3)
    places = np.arange(64, dtype=np.float32)[:, None]
    ones = np.where((np.arange(64) // 16) % 2 == 1, 0.9, 0.1)
    found = []
    for _ in range(REPEATS):
        x = draw.integers(0, 64, SAMPLES)
        y = (draw.random(SAMPLES) < ones[x]).astype(np.int64)
        keys = [bytes([int(a), int(b)]) for a, b in zip(x, y, strict=True)]
        chosen = select(places[x], y, recipe, classes=2, keys=keys)
        near = Kernel(places, halving_distance=recipe.halving_distance).block(
            places[x[chosen.picks]].astype(np.float64)
        )
        scores = near.astype(np.int64) @ chosen.coefficients
        wrong_for_0, wrong_for_1 = scores[:, 1] >= scores[:, 0], scores[:, 0] >= scores[:, 1]
        risk = float(np.mean(wrong_for_1 * ones + wrong_for_0 * (1 - ones)))
        found.append((len(chosen.picks), len(chosen.wrong), risk))
    return found


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("most", [0, 4])
def test_the_risk_is_below_the_bound_as_often_as_is_said(most: int, order: str) -> None:
    runs = simulate(PickRecipe(width=8, margin=2, steps=4, most=most, order=order))
    bounds = {n: selection_bound(selected=n, samples=SAMPLES, delta=DELTA) for n in range(SAMPLES + 1)}
    broken = sum(risk > bounds[picked + wrong] for picked, wrong, risk in runs)
    assert binomtest(broken, REPEATS, DELTA, alternative="greater").pvalue > 1e-3, broken
    ratio = float(np.median([bounds[picked + wrong] / risk for picked, wrong, risk in runs]))
    assert 1.2 < ratio < 8, ratio
    # What the bound pays for is needed: neither picked nor wrong samples may be left out.
    for left_out, count in (("picked", lambda p, w: w), ("wrong", lambda p, w: p)):
        unpaid = sum(risk > bounds[count(picked, wrong)] for picked, wrong, risk in runs)
        if (left_out, most) in (("picked", 0), ("wrong", 4)):
            assert binomtest(unpaid, REPEATS, DELTA, alternative="greater").pvalue < 1e-3, (left_out, unpaid)


def count_with_message(most: int) -> list[tuple[int, int]]:
    """(picked, wrong) of many runs on labels that are noise, with the best of 2^16 messages for each sample.

    The classifier says 1 at the places of its picks and 0 elsewhere; samples with label 1 are picked by their keys, at
    most so many. A message turns its answer around on a random half of all places that are not picked.
    """
    draw = np.random.default_rng(11)
    turns = np.random.default_rng(12).random((1 << MESSAGE_BITS, PLACES)).round().astype(np.float32)
    found = []
    for _ in range(REPEATS // 2):
        x, y = draw.integers(0, PLACES, FEW), draw.integers(0, 2, FEW)
        order = np.argsort(x * 2 + y, kind="stable")
        picks: list[int] = []
        for place in order:
            if y[place] == 1 and x[place] not in x[picks] and len(picks) < most:
                picks.append(int(place))
        left = np.setdiff1d(np.arange(FEW), picks)
        said = np.isin(np.arange(PLACES), x[picks])
        wrong = said[x[left]] != y[left]
        # What a message gains at each place, where it may turn the answer.
        gains = np.bincount(x[left], np.where(wrong, 1, -1), minlength=PLACES) * ~said
        best = int(np.count_nonzero(wrong) - (turns @ gains.astype(np.float32)).max())
        found.append((len(picks), best))
    return found


def test_a_message_that_changes_the_classifier_afterwards() -> None:
    """For each message the picks are the same and what is wrong follows from them: preference and coherence hold, and
    the bits are paid for like those of a recipe. Every classifier here errs on half of all samples.
    """

    def broken(runs: list[tuple[int, int]], *, bits: int, count_picks: bool = True) -> float:
        selected = [wrong + picked * count_picks for picked, wrong in runs]
        bounds = [selection_bound(selected=n, samples=FEW, code_bits=bits, delta=DELTA) for n in selected]
        return float(np.mean([bound < 0.5 for bound in bounds]))

    few, many = count_with_message(2), count_with_message(FEW)
    assert min(picked for picked, _ in many) > 5
    assert broken(few, bits=MESSAGE_BITS) <= DELTA
    assert broken(many, bits=MESSAGE_BITS) <= DELTA
    assert broken(few, bits=0) > 0.5, "the bits must be counted"
    assert broken(many, bits=MESSAGE_BITS, count_picks=False) > 0.5, "and so must the picks"
