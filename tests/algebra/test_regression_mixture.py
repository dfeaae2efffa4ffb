"""Mixtures of regressions: known lines, a slow reference, the likelihood that never falls."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from netpact import PactError, Seed
from netpact.algebra import fit_regression_mixture

untyped: Any = fit_regression_mixture
LINES = ((-1.0, 4.0, 0.3), (2.0, -1.0, 0.2))


def draw(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """30 % of the points on the first line of LINES."""
    random = np.random.default_rng(seed)
    x, which = random.uniform(1, 6, count), (random.random(count) > 0.3).astype(int)
    slopes, levels, noise = np.array(LINES).T
    return x, slopes[which] * x + levels[which] + noise[which] * random.standard_normal(count), which


def slow_climb(x: np.ndarray, y: np.ndarray, weights: list[list[float]], least: float, steps: int) -> tuple[Any, float]:
    """Points and lines one by one, regressions by normal equations; weights[j][i] to begin with."""
    for _ in range(steps):
        found = []
        for row in weights:
            s, sx, sy = sum(row), sum(np.array(row) * x), sum(np.array(row) * y)
            sxx, sxy = sum(np.array(row) * x * x), sum(np.array(row) * x * y)
            slope, level = np.linalg.solve([[sxx, sx], [sx, s]], [sxy, sy])
            spread = sum(w * (b - slope * a - level) ** 2 for w, a, b in zip(row, x, y, strict=True)) / s
            found.append((slope, level, max(math.sqrt(spread), least), s / len(x)))
        total, weights = 0.0, [[0.0] * len(x) for _ in found]
        for i, (a, b) in enumerate(zip(x, y, strict=True)):
            parts = [
                share / (noise * math.sqrt(2 * math.pi)) * math.exp(-(((b - slope * a - level) / noise) ** 2) / 2)
                for slope, level, noise, share in found
            ]
            total += math.log(sum(parts))
            for j, part in enumerate(parts):
                weights[j][i] = part / sum(parts)
    return found, total


def test_known_lines_are_found() -> None:
    for seed in range(3):
        x, y, which = draw(300, seed)
        found = fit_regression_mixture(x, y, lines=2)
        for line, (slope, level, noise), share in zip(found.lines, LINES, (0.3, 0.7), strict=True):
            assert line.slope == pytest.approx(slope, abs=0.15)
            assert line.intercept == pytest.approx(level, abs=0.5)
            assert line.noise_std == pytest.approx(noise, rel=0.3)
            assert line.share == pytest.approx(share, abs=0.08)
        assert np.mean(found.assigned == which) > 0.9
        assert found.responsibilities.sum(axis=1) == pytest.approx(np.ones(300))
        assert found.lines[0].at([0.0, 1.0]) == pytest.approx(
            [found.lines[0].intercept, found.lines[0].intercept + found.lines[0].slope]
        )


def test_the_slow_reference_agrees() -> None:
    """From the best mixture's responsibilities it stays there; its likelihood is that of the plain formula."""
    x, y, _ = draw(60, 1)
    found = fit_regression_mixture(x, y, lines=2)
    slow, likelihood = slow_climb(x, y, found.responsibilities.T.tolist(), found.least_std, 30)
    assert likelihood == pytest.approx(found.log_likelihood, abs=1e-5)
    for line, (slope, level, noise, share) in zip(found.lines, slow, strict=True):
        assert (line.slope, line.intercept) == pytest.approx((slope, level), abs=1e-4)
        assert (line.noise_std, line.share) == pytest.approx((noise, share), abs=1e-4)


def test_no_random_start_of_the_reference_is_better() -> None:
    x, y, _ = draw(40, 2)
    found = fit_regression_mixture(x, y, lines=2, starts=30)
    for seed in range(8):
        first = np.random.default_rng(seed).random(40)
        _, likelihood = slow_climb(x, y, [first.tolist(), (1 - first).tolist()], found.least_std, 60)
        assert likelihood <= found.log_likelihood + 1e-6


@pytest.mark.parametrize("lines", [1, 2, 3, 4])
def test_the_likelihood_never_falls(lines: int) -> None:
    for seed in range(5):
        x, y, _ = draw(50, seed)
        found = fit_regression_mixture(x, y, lines=lines, starts=3, seed=Seed(seed))
        assert all(after >= before - 1e-9 for before, after in pairwise(found.history))
        assert found.log_likelihood == found.history[-1] > found.history[0]
        slopes = [line.slope for line in found.lines]
        assert slopes == sorted(slopes)
        assert min(line.noise_std for line in found.lines) >= found.least_std
        assert sum(line.share for line in found.lines) == pytest.approx(1)


def test_one_line_is_least_squares() -> None:
    x, y, _ = draw(50, 0)
    (line,) = fit_regression_mixture(1e6 + 1e-3 * x, y, lines=1).lines
    slope, level = np.polyfit(x, y, 1)
    assert line.slope == pytest.approx(1e3 * slope, rel=1e-6)
    assert line.noise_std == pytest.approx(np.std(y - slope * x - level), rel=1e-6)


def test_bic_knows_how_many_lines_there_are() -> None:
    x, y, which = draw(200, 4)
    values = {lines: fit_regression_mixture(x, y, lines=lines).bic for lines in (1, 2, 3)}
    assert min(values, key=lambda lines: values[lines]) == 2
    one = x[which == 1], y[which == 1]
    assert fit_regression_mixture(*one, lines=1).bic < fit_regression_mixture(*one, lines=2).bic
    straight = fit_regression_mixture(x, y, lines=1)
    assert straight.bic == pytest.approx(-2 * straight.log_likelihood + 3 * math.log(200))


def test_the_same_seed_gives_the_same_mixture() -> None:
    x, y, _ = draw(80, 5)
    first, second = (fit_regression_mixture(x, y, seed=Seed(3), starts=2) for _ in range(2))
    assert first.to_json() == second.to_json()
    assert np.array_equal(first.responsibilities, second.responsibilities)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.arange(7.0), np.arange(7.0)), {}, "8 numbers or more for 2 lines"),
        ((np.ones(20), np.arange(20.0)), {}, "two different numbers"),
        ((np.arange(20.0), np.arange(19.0)), {}, "one number for each x"),
        ((np.arange(20.0), 3 * np.arange(20.0)), {}, "on one line"),
        ((np.arange(20.0), np.full(20, np.nan)), {}, "finite"),
        (("text", np.arange(20.0)), {}, "numbers"),
        ((np.arange(20.0), np.arange(20.0) ** 2), {"lines": 0}, "lines"),
        ((np.arange(20.0), np.arange(20.0) ** 2), {"starts": 0}, "starts"),
        ((np.arange(20.0), np.arange(20.0) ** 2), {"least_std": 0}, "least_std"),
        ((np.arange(20.0), np.arange(20.0) ** 2), {"seed": 1}, "seed"),
    ],
)
def test_what_has_no_mixture(arguments: tuple[Any, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(PactError, match=message):
        untyped(*arguments, **options)
