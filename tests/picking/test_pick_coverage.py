"""The guarantee by simulation: a problem whose risks are known, noisy labels, few samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from netpact import PickRecipe
from netpact.certificates import selection_bound
from netpact.picking.kernel import Kernel
from netpact.picking.learner import select

DELTA, REPEATS, SAMPLES = 0.05, 400, 40


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


@pytest.mark.parametrize("most", [0, 4])
def test_the_risk_is_below_the_bound_as_often_as_is_said(most: int) -> None:
    runs = simulate(PickRecipe(width=8, margin=2, steps=4, most=most))
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
