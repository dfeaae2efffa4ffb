"""Power laws against other tails: likelihoods as scipy computes them, their maxima, and the p-values of the ratios."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from scipy import optimize, stats

from netpact import PactError, fit_power_law
from netpact.algebra import TailComparison, compare_tails
from netpact.algebra.power_law_normal import excess_moments, fit_cut_normal, fit_half_normal, log_hazard

untyped: Any = compare_tails
NAMES = ["exponential", "laplace", "log-normal", "gaussian"]
DRAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "pareto": lambda random, count: random.pareto(1.5, count) + 1,
    "exponential": lambda random, count: random.exponential(size=count),
    "log-normal": lambda random, count: np.exp(random.standard_normal(count)),
    "gaussian": lambda random, count: np.abs(random.standard_normal(count)),
    "student": lambda random, count: np.abs(random.standard_t(4, count)),
}


def frozen(name: str, values: dict[str, float]) -> Any:
    """The whole distribution of magnitudes; a tail is what is left of it above xmin."""
    if name == "exponential":
        return stats.expon(scale=values["scale"])
    if name == "laplace":
        return stats.laplace(scale=values["scale"])
    if name == "gaussian":
        return stats.halfnorm(scale=values["sigma"])
    return stats.lognorm(s=values["sigma"], scale=math.exp(values["mu"]))


def slow_parts(name: str, parameters: dict[str, float], tail: np.ndarray, xmin: float) -> np.ndarray:
    whole = frozen(name, parameters)
    return whole.logpdf(tail) - whole.logsf(xmin)


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("draw", DRAWS)
def test_likelihoods_and_ratios_are_those_of_scipy(draw: str, share: float) -> None:
    values = DRAWS[draw](np.random.default_rng(5), 2000)
    xmin = float(np.quantile(values, 1 - share))
    fit = fit_power_law(values, xmin=xmin)
    tail = values[values >= xmin]
    power_law = stats.pareto(fit.alpha - 1, scale=xmin).logpdf(tail)
    assert fit.log_likelihood == pytest.approx(power_law.sum())
    found = compare_tails(values, fit)
    assert list(found) == NAMES
    for name, row in found.items():
        if row.parameters.get("sigma") == math.inf:
            assert (row.ratio, row.normalized_ratio, row.p_value) == (0, 0, 1)
            assert row.log_likelihood == pytest.approx(fit.log_likelihood)
            continue
        parts = slow_parts(name, row.parameters, tail, xmin)
        assert row.log_likelihood == pytest.approx(parts.sum(), rel=1e-9)
        ratio = power_law - parts
        assert row.ratio == pytest.approx(ratio.sum(), rel=1e-6, abs=1e-6)
        assert row.ratio == pytest.approx(fit.log_likelihood - row.log_likelihood, rel=1e-6, abs=1e-6)
        normalized = ratio.sum() / (math.sqrt(len(tail)) * ratio.std())
        assert row.normalized_ratio == pytest.approx(normalized, rel=1e-5, abs=1e-6)
        if name == "log-normal":
            assert row.p_value == pytest.approx(stats.chi2.sf(-2 * ratio.sum(), 1) / 2, rel=1e-4)
        else:
            assert row.p_value == pytest.approx(2 * stats.norm.sf(abs(normalized)), rel=1e-4)


@pytest.mark.parametrize("draw", DRAWS)
def test_no_search_finds_a_larger_likelihood(draw: str) -> None:
    values = DRAWS[draw](np.random.default_rng(6), 600)
    fit = fit_power_law(values, xmin=float(np.quantile(values, 0.3)))
    tail = values[values >= fit.xmin]
    for name, row in compare_tails(values, fit).items():
        names = list(row.parameters)
        start = [1.0] * len(names)
        if math.isfinite(row.parameters[names[0]]):
            start = [row.parameters[each] for each in names]

        def minus(given: np.ndarray, name: str = name, names: list[str] = names) -> float:
            if given[-1] <= 1e-3:
                return math.inf
            total = float(slow_parts(name, dict(zip(names, map(float, given), strict=True)), tail, fit.xmin).sum())
            return -total if math.isfinite(total) else math.inf

        best = -min(optimize.minimize(minus, np.array(start) * f, method="Nelder-Mead").fun for f in (0.7, 1.0, 1.4))
        assert best <= row.log_likelihood + 1e-6
        if math.isfinite(row.parameters[names[0]]):
            assert best >= row.log_likelihood - 1e-3
            for name_of_one in names:  # and it falls on both sides
                for factor in (0.97, 1.03):
                    moved = {**row.parameters, name_of_one: row.parameters[name_of_one] * factor}
                    assert slow_parts(name, moved, tail, fit.xmin).sum() < row.log_likelihood


def test_by_hand() -> None:
    """1, 2, 3 from 1: excess 0, 1, 2, mean 1, so the exponential tail has log-likelihood -3."""
    fit = fit_power_law(np.array([1.0, 2.0, 3.0]), xmin=1.0)
    row = compare_tails(np.array([1.0, 2.0, 3.0]), fit)["exponential"]
    assert row.parameters == {"scale": 1.0}
    assert row.log_likelihood == pytest.approx(-3)
    exponent = 3 / math.log(6)
    parts = [math.log(exponent) - (1 + exponent) * math.log(w) + (w - 1) for w in (1, 2, 3)]
    assert row.ratio == pytest.approx(sum(parts))
    assert row.normalized_ratio == pytest.approx(sum(parts) / math.sqrt(3) / np.std(parts))
    assert row.p_value == pytest.approx(2 * stats.norm.sf(abs(row.normalized_ratio)))


@pytest.mark.parametrize("draw", ["exponential", "log-normal", "gaussian"])
def test_the_true_tail_is_preferred(draw: str) -> None:
    values = DRAWS[draw](np.random.default_rng(7), 5000)
    fit = fit_power_law(values, xmin=float(np.quantile(values, 0.2)))
    rows = compare_tails(values, fit)
    assert rows[draw].normalized_ratio < -5
    assert rows[draw].p_value < 1e-6
    assert max(rows.values(), key=lambda row: row.log_likelihood).name == draw


def test_a_power_law_is_preferred_where_it_is_true() -> None:
    values = DRAWS["pareto"](np.random.default_rng(8), 5000)
    rows = compare_tails(values, fit_power_law(values, xmin=1.0))
    for name in ("exponential", "laplace", "gaussian"):
        assert rows[name].normalized_ratio > 3
        assert rows[name].p_value < 1e-3
        assert not rows[name].nested
    assert rows["log-normal"].nested
    assert rows["log-normal"].p_value > 0.05


def test_p_values_against_log_normal_tails_under_a_power_law() -> None:
    """Half of the ratios are 0; the others have p-values below any x <= 1/2 with chance x. With many numbers: docs."""
    chances = []
    for seed in range(1500):
        values = np.random.default_rng(seed).pareto(2.0, 4000) + 1
        chances.append(compare_tails(values, fit_power_law(values, xmin=1.0))["log-normal"].p_value)
    found = np.array(chances)
    for level in (0.05, 0.1, 0.25, 0.5):
        assert abs((found <= level).mean() - level) < 4 * math.sqrt(level * (1 - level) / 1500)
    assert 0.45 < (found == 1).mean() < 0.55


def test_vuong_p_values_between_equally_near_tails() -> None:
    """A mixture of both models, as near to one as to the other at the share where the mean ratio is 0."""

    def row(share: float, count: int, seed: int) -> TailComparison:
        random = np.random.default_rng(seed)
        from_power_law = np.minimum(random.pareto(2.0, count) + 1, 5)
        values = np.where(random.random(count) < share, from_power_law, 1 + random.exponential(1 / 2, count))
        return compare_tails(values, fit_power_law(values, xmin=1.0))["exponential"]

    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if row(middle, 100_000, 1).ratio > 0 else (middle, high)
    found = [row(low, 1000, seed) for seed in range(1000)]
    for level in (0.05, 0.1, 0.3):
        share = float(np.mean([one.p_value <= level for one in found]))
        assert abs(share - level) < 4 * math.sqrt(level * (1 - level) / 1000)
    assert np.std([one.normalized_ratio for one in found]) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("exponent", [-900, 4, 900])
def test_scale_changes_nothing_but_the_parameters(exponent: int) -> None:
    values = np.abs(np.random.default_rng(3).standard_t(5, 900))
    scaled = np.ldexp(values, exponent)
    fit = fit_power_law(values)
    moved = fit.tail_count * exponent * math.log(2)
    rows, others = compare_tails(values, fit), compare_tails(scaled, fit_power_law(scaled))
    for name in NAMES:
        assert others[name].ratio == pytest.approx(rows[name].ratio, rel=1e-9)
        assert others[name].p_value == pytest.approx(rows[name].p_value, rel=1e-9)
        assert others[name].log_likelihood == pytest.approx(rows[name].log_likelihood - moved)
    assert others["gaussian"].parameters["sigma"] == pytest.approx(
        math.ldexp(rows["gaussian"].parameters["sigma"], exponent)
    )


@pytest.mark.parametrize(
    "values",
    [
        np.exp(np.random.default_rng(0).uniform(-700, 700, 300)),
        1 + 1e-9 * np.random.default_rng(0).random(300),
        np.array([1.0, 1.0 + 2**-52]),
        np.array([1.0, 2.0]),
        np.repeat([1.0, 2.0], [500, 1]),
        np.repeat([1.0, 2.0], [1, 500]),
        np.array([5e-324, 1.7e308]),
    ],
    ids=["all magnitudes", "near one", "neighbours", "two", "most at xmin", "most at the end", "both ends"],
)
def test_extremes_stay_finite(values: np.ndarray) -> None:
    for row in compare_tails(values, fit_power_law(values)).values():
        assert math.isfinite(row.ratio)
        assert math.isfinite(row.normalized_ratio)
        assert 0 <= row.p_value <= 1
        json.dumps(row.to_json(), allow_nan=False)


def test_ties_weigh_as_often_as_they_occur() -> None:
    values = np.repeat([1.0, 2.0, 5.0, 7.0], [3, 5, 2, 1])
    fit = fit_power_law(values, xmin=1.0)
    for name, row in compare_tails(torch.from_numpy(values), fit).items():
        assert row.log_likelihood == pytest.approx(slow_parts(name, row.parameters, values, 1.0).sum())


@pytest.mark.parametrize("a", [-39.0, -5.0, -0.3, 0.0, 1.0, 4.99, 5.01, 20.0, 300.0, 1e6])
def test_moments_above_a_cut_to_many_digits(a: float) -> None:
    with mpmath.workdps(60):
        exact = mpmath.npdf(a) / (mpmath.erfc(mpmath.mpf(a) / mpmath.sqrt(2)) / 2)
        first, second = exact - a, 1 - a * (exact - a)
        assert excess_moments(a) == pytest.approx((float(first), float(second)), rel=1e-12)
        assert log_hazard(a) == pytest.approx(float(mpmath.log(exact)), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("a", [-200.0, -39.0, -3.0, 0.0, 2.0, 30.0, 2000.0])
def test_fits_return_what_moments_came_from(a: float) -> None:
    first, second = excess_moments(a)
    found = fit_cut_normal(2 * first, 4 * (second - first**2))
    assert found is not None
    assert found == pytest.approx((a, 2.0), rel=1e-4 if a > 100 else 1e-6, abs=1e-9)
    if a > 0:
        assert fit_half_normal(9 * (2 - second), 3 * a) == pytest.approx(3.0, rel=1e-9)


def test_exponential_spread_is_the_limit() -> None:
    assert fit_cut_normal(2.0, 4.0) is None
    assert fit_cut_normal(2.0, 4.5) is None
    assert fit_cut_normal(2.0, 3.99) is not None


def test_wrong_arguments() -> None:
    values = np.array([1.0, 2.0, 4.0])
    fit = fit_power_law(values)
    with pytest.raises(PactError, match=r"fit: must be a PowerLawFit, got float .fit_power_law"):
        untyped(values, 2.5)
    with pytest.raises(PactError, match=r"fit: must be the fit of these values: 2 of 2 .* not 3 of 3"):
        compare_tails(values[1:], fit)
    with pytest.raises(PactError, match=r"these values: they have alpha 1\.72135 from its xmin on, not 2\.4427"):
        compare_tails(values * 2, fit)
    with pytest.raises(PactError, match="got 1 zero of 3"):
        compare_tails(values - 1, fit)
    equal = np.full(4, 2.0)
    with pytest.raises(PactError, match="two different numbers or more >= xmin = 1"):
        compare_tails(equal, fit_power_law(equal, xmin=1.0))
