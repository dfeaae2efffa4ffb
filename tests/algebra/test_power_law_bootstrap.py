"""The bootstrap p-value of a power law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from netpact import PactError, Seed, fit_power_law
from netpact.algebra import power_law_p_value
from netpact.algebra.power_law_bootstrap import _draw

untyped: Any = power_law_p_value


def half_pareto(count: int, seed: int) -> np.ndarray:
    """Uniform below 2, a power law of alpha 2.5 above: the null hypothesis, with an xmin that is not known."""
    random = np.random.default_rng(seed)
    return np.where(random.random(count) < 0.5, random.uniform(1, 2, count), 2 * random.pareto(1.5, count) + 2)


@pytest.mark.parametrize("given", [True, False])
def test_p_values_are_uniform_where_the_power_law_is_true(given: bool) -> None:
    """With a given xmin exactly so. With a chosen one nearly: the repeats are drawn from a fit, not from the truth."""
    found = []
    for seed in range(120 if given else 60):
        values = half_pareto(150, seed)
        fit = fit_power_law(values, xmin=2.0 if given else None)
        found.append(power_law_p_value(values, fit, repeats=39 if given else 19, seed=Seed(seed)))
    if given:
        assert stats.kstest(found, "uniform").pvalue > 0.01
    assert 0.4 < np.mean(found) < 0.65
    assert 0.01 < np.mean(np.array(found) <= 0.1) < 0.18


@pytest.mark.parametrize("xmin", [0.2, 0.5, 1.0])
def test_exponential_numbers_are_rejected(xmin: float) -> None:
    values = np.random.default_rng(0).exponential(size=2000)
    assert power_law_p_value(values, fit_power_law(values, xmin=xmin), repeats=99) == 0.01


def test_the_end_of_an_exponential_tail_may_pass() -> None:
    """The docs say so: a chosen xmin leaves few numbers, and nothing in them speaks against a power law."""
    values = np.random.default_rng(0).exponential(size=2000)
    fit = fit_power_law(values)
    assert fit.tail_count < 200
    assert power_law_p_value(values, fit, repeats=99) > 0.1


@pytest.mark.parametrize("xmin", [None, 1.0, 1.8])
def test_uniform_numbers_are_rejected(xmin: float | None) -> None:
    values = np.random.default_rng(1).uniform(1, 2, 3000)
    assert power_law_p_value(values, fit_power_law(values, xmin=xmin), repeats=50) == 1 / 51


def test_drawn_numbers_are_those_below_and_a_power_law() -> None:
    values = half_pareto(20_000, 3)
    fit = fit_power_law(values, xmin=2.0)
    below = np.sort(values)[: fit.count - fit.tail_count]
    drawn = _draw(below, fit, np.random.default_rng(0))
    assert drawn.total == 20_000
    assert drawn.tail(2.0).total == pytest.approx(fit.tail_count, abs=4 * 71)  # 71: binomial standard deviation
    assert set(drawn.values[drawn.values < 2.0]) <= set(below)
    again = fit_power_law(np.repeat(drawn.values, drawn.counts.astype(int)), xmin=2.0)
    assert abs(again.alpha - fit.alpha) < 4 * fit.alpha_stderr
    assert again.ks < 1.7 / np.sqrt(again.tail_count)  # passed with chance 0.994 by the true law


def test_only_numbers_below_the_tail_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.repeat([1.0, 1.5, 2.0, 3.0, 7.0], [4, 1, 2, 2, 1])
    seen: list[np.ndarray] = []

    def draw(below: np.ndarray, *others: Any) -> Any:
        seen.append(below)
        return _draw(below, *others)

    monkeypatch.setattr("netpact.algebra.power_law_bootstrap._draw", draw)
    power_law_p_value(values, fit_power_law(values, xmin=2.0), repeats=2)
    assert [below.tolist() for below in seen] == [[1.0, 1.0, 1.0, 1.0, 1.5]] * 2


def test_seeds_repeats_progress() -> None:
    values = half_pareto(100, 5)
    fit = fit_power_law(values)
    seen: list[tuple[int, int]] = []
    first = power_law_p_value(values, fit, repeats=20, progress=lambda *step: seen.append(step))
    assert seen == [(done, 20) for done in range(1, 21)]
    assert power_law_p_value(torch.from_numpy(values), fit, repeats=20) == first
    assert len({power_law_p_value(values, fit, repeats=40, seed=Seed(seed)) for seed in range(6)}) > 1
    assert first * 21 == pytest.approx(round(first * 21))


def test_chosen_and_given_xmin_are_repeated_alike() -> None:
    """At the chosen xmin, distances of repeats that choose theirs are smaller: the p-value is, too."""
    values = half_pareto(300, 8)
    chosen = fit_power_law(values)
    given = fit_power_law(values, xmin=chosen.xmin)
    assert given.ks == chosen.ks
    few, many = (power_law_p_value(values, fit, repeats=200) for fit in (chosen, given))
    assert few < many - 0.02


@pytest.mark.parametrize(
    "values",
    [np.array([1.0, 2.0]), np.repeat([1.0, 2.0], [1, 9]), np.array([1.0, 2.0, 1e300]), np.array([5e-324, 1e308])],
)
def test_few_numbers_and_extremes(values: np.ndarray) -> None:
    for xmin in (None, float(values[0])):
        assert 0 < power_law_p_value(values, fit_power_law(values, xmin=xmin), repeats=30) <= 1


def test_wrong_arguments() -> None:
    values = np.array([1.0, 2.0, 4.0])
    fit = fit_power_law(values)
    for repeats in (0, -1, 2.5, True, "9"):
        with pytest.raises(PactError, match="repeats: must be an integer >= 1"):
            untyped(values, fit, repeats=repeats)
    with pytest.raises(PactError, match="seed: must be a Seed, got int"):
        untyped(values, fit, seed=3)
    with pytest.raises(PactError, match="fit: must be a PowerLawFit, got NoneType"):
        untyped(values, None)
    with pytest.raises(PactError, match=r"must be the fit of these values: they have alpha 1\.72135 .*, not 2\.4427"):
        power_law_p_value(values * 2, fit)
