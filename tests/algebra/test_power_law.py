"""Power laws fitted to tails: exponents, standard errors, the choice of xmin, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

import netpact
from netpact import PactError, fit_power_law
from netpact.algebra import PowerLawFit
from netpact.algebra.power_law_scan import Scan
from netpact.algebra.power_law_values import sort_values

untyped: Any = netpact


def pareto(alpha: float, count: int, seed: int, xmin: float = 1.0) -> np.ndarray:
    return xmin * np.random.default_rng(seed).pareto(alpha - 1, count) + xmin


def slow_distance(values: np.ndarray, xmin: float) -> float:
    logs = np.log(np.longdouble(values[values >= xmin])) - np.log(np.longdouble(xmin))
    n = len(logs)
    function = 1 - np.exp(-n / logs.sum() * np.sort(logs))
    return float(max(np.abs(function - np.arange(n) / n).max(), np.abs(function - np.arange(1, n + 1) / n).max()))


def exhaustive(values: np.ndarray) -> dict[float, float]:
    """The KS distance of every candidate, each from nothing."""
    return {float(xmin): slow_distance(values, xmin) for xmin in np.unique(values)[:-1]}


@pytest.mark.parametrize("values", [np.arange(1.0, 30), np.repeat([1.0, 2.0, 5.0], [4, 7, 2])])
def test_the_slow_distance_is_that_of_scipy(values: np.ndarray) -> None:
    alpha = 1 + len(values) / np.log(values).sum()
    assert slow_distance(values, 1.0) == pytest.approx(stats.kstest(values, stats.pareto(alpha - 1).cdf).statistic)


def test_by_hand() -> None:
    """1, 2, 4, 8: logarithms in units of log 2.

    From 1: alpha - 1 = 4 / 6 log2(e), model survival 1, 2^(-2/3 log2 e), ... = e^(-2i/3): 1, .513, .264, .135 against
    1, .75, .5, .25 and .75, .5, .25, 0: the largest difference is 1 - .75 = .25. From 2: survival e^-i, .368 against
    2/3 and 1/3, the largest 1 - 2/3 = 1/3. From 4: 1 - 1/2 = 1/2.
    """
    found = fit_power_law(np.array([8.0, 2.0, 4.0, 1.0]))
    exponent = 4 / (6 * math.log(2))
    assert found.alpha == pytest.approx(1 + exponent, rel=1e-14)
    assert found.alpha_stderr == pytest.approx(exponent / 2, rel=1e-14)
    assert found.ks == pytest.approx(0.25, rel=1e-14)
    assert (found.xmin, found.tail_count, found.count, found.xmin_given) == (1.0, 4, 4, False)
    density = [exponent * w ** -(1 + exponent) for w in (1.0, 2.0, 4.0, 8.0)]
    assert found.log_likelihood == pytest.approx(sum(map(math.log, density)), rel=1e-13)
    given = fit_power_law(np.array([8.0, 2.0, 4.0, 1.0]), xmin=2)
    assert given.ks == pytest.approx(1 / 3, rel=1e-14)
    assert given.alpha == pytest.approx(1 + 1 / math.log(2), rel=1e-14)
    assert (given.tail_count, given.count, given.xmin_given) == (3, 4, True)


@pytest.mark.parametrize("alpha", [1.5, 2.0, 2.5, 3.5, 6.0])
@pytest.mark.parametrize("seed", range(4))
def test_exponents_of_pareto_tails(alpha: float, seed: int) -> None:
    """Half of the numbers are below the tail, and uniform there: xmin is not known either."""
    below = np.random.default_rng(seed + 100).uniform(0, 2, 5000)
    tail = pareto(alpha, 5000, seed, xmin=2.0)
    found = fit_power_law(np.concatenate([below, tail]))
    assert abs(found.alpha - alpha) <= 3 * found.alpha_stderr
    assert found.alpha_stderr == pytest.approx((found.alpha - 1) / math.sqrt(found.tail_count))
    known = fit_power_law(tail, xmin=2.0)
    assert abs(known.alpha - alpha) <= 3 * known.alpha_stderr


def test_standard_errors_cover() -> None:
    """4,000 draws of known xmin: 95 % intervals cover in 93 to 97 %, and the share would show a wrong factor."""
    covered = dict.fromkeys((0.9, 1.0, 1.1), 0)
    for seed in range(4000):
        found = fit_power_law(pareto(2.5, 200, seed), xmin=1.0)
        for factor in covered:
            covered[factor] += abs(found.alpha - 2.5) <= 1.96 * factor * found.alpha_stderr
    shares = {factor: number / 4000 for factor, number in covered.items()}
    assert 0.93 <= shares[1.0] <= 0.97
    assert shares[0.9] < 0.93
    assert shares[1.1] > 0.96


SHAPES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "pareto": lambda random, count: random.pareto(1.5, count) + 1,
    "student": lambda random, count: np.abs(random.standard_t(3, count)),
    "normal": lambda random, count: np.abs(random.standard_normal(count)),
    "exponential": lambda random, count: random.exponential(size=count),
    "uniform": lambda random, count: random.uniform(size=count),
    "log-uniform": lambda random, count: np.exp(random.uniform(0, 30, count)),
    "log-normal": lambda random, count: np.exp(2 * random.standard_normal(count)),
    "integers": lambda random, count: np.floor(random.pareto(0.8, count) + 1),
    "few integers": lambda random, count: 1.0 + random.integers(0, 4, count),
    "one decimal": lambda random, count: np.ceil(10 * random.exponential(size=count)) / 10,
    "geometric": lambda random, count: 2.0 ** np.arange(-(count % 500), count % 500),
    "evenly spaced": lambda random, count: np.arange(1.0, count + 1),
    "near one": lambda random, count: 1 + 1e-5 * random.uniform(size=count),
    "all magnitudes": lambda random, count: np.exp(random.uniform(-700, 700, count)),
    "mixture": lambda random, count: np.where(
        random.random(count) < 0.5, random.random(count), random.pareto(1, count) + 1
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_exhaustive_scan_finds_nothing_better(shape: str) -> None:
    for seed, count in enumerate([2, 3, 4, 5, 7, 10, 20, 33, 50, 80, 128, 200, 300]):
        values = SHAPES[shape](np.random.default_rng(seed), count)
        if len(np.unique(values)) < 2:
            continue
        found, slow = fit_power_law(values), exhaustive(values)
        assert found.ks == pytest.approx(min(slow.values()), abs=1e-11)
        best = min(slow, key=lambda xmin: (round(slow[xmin], 11), xmin))
        if sum(distance < slow[best] + 1e-9 for distance in slow.values()) == 1:
            assert found.xmin == best
        assert fit_power_law(values, xmin=found.xmin).ks == found.ks


def test_many_candidates_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks end within the candidates; a few of them are enough for the bounds to decide."""
    monkeypatch.setattr("netpact.algebra.power_law_scan._BLOCK", 64)
    for shape in SHAPES:
        values = SHAPES[shape](np.random.default_rng(3), 700)
        assert fit_power_law(values).ks == pytest.approx(min(exhaustive(values).values()), abs=1e-11)


@pytest.mark.parametrize("shape", ["pareto", "student", "log-uniform", "evenly spaced"])
def test_few_distances_are_computed(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20,000 candidates; a bound that does not hold would not show in the time."""
    computed: list[int] = []
    distance = Scan.distance
    monkeypatch.setattr(Scan, "distance", lambda scan, k: computed.append(k) or distance(scan, k))  # type: ignore[func-returns-value]
    fit_power_law(SHAPES[shape](np.random.default_rng(0), 20_000))
    assert len(computed) < 100


@pytest.mark.parametrize("shape", ["student", "few integers", "integers"])
def test_every_deviation_is_a_lower_bound_and_the_largest_is_the_distance(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netpact.algebra.power_law_scan._BLOCK", 3)
    scan = Scan(sort_values(SHAPES[shape](np.random.default_rng(1), 200)))
    for k in range(scan.candidates):
        places = np.arange(k, scan.candidates + 1)
        found = scan.deviations(np.full_like(places, k), places)
        distance, place = scan.distance(k)
        assert found.max() == pytest.approx(distance, rel=1e-13)
        assert found[place - k] == found.max()
        for share in (0.0, 0.3, 1.0):
            assert k <= int(scan.place_within(np.array([k]), share)[0]) <= scan.candidates


def test_among_equal_distances_the_longest_tail() -> None:
    """Half of the numbers are at 1, and half of the rest at 2: both tails begin with a step of 1/2."""
    repeated = np.repeat([1.0, 2.0, 4.0], [2, 1, 1])
    assert exhaustive(repeated) == pytest.approx({1.0: 0.5, 2.0: 0.5})
    assert fit_power_law(repeated).xmin == 1.0


@pytest.mark.parametrize("exponent", [-900, -3, 5, 900])
def test_scale_changes_nothing_else(exponent: int) -> None:
    values = np.abs(np.random.default_rng(1).standard_t(3, 3000))
    found, scaled = fit_power_law(values), fit_power_law(np.ldexp(values, exponent))
    assert scaled.xmin == math.ldexp(found.xmin, exponent)
    assert (scaled.alpha, scaled.ks, scaled.tail_count) == (found.alpha, found.ks, found.tail_count)
    moved = scaled.log_likelihood - found.log_likelihood
    assert moved == pytest.approx(-exponent * math.log(2) * found.tail_count)
    assert fit_power_law(3.7 * values).alpha == pytest.approx(found.alpha, rel=1e-12)


def test_order_shape_and_kind_change_nothing() -> None:
    values = np.abs(np.random.default_rng(2).standard_t(3, 2400).astype(np.float32))
    found = fit_power_law(values)
    assert fit_power_law(values[::-1].reshape(40, 60)) == found
    assert fit_power_law(values.astype(np.float64)) == found
    assert fit_power_law(values.astype(">f4")) == found
    weight = torch.nn.Parameter(torch.from_numpy(values).reshape(2, 30, 40))
    assert fit_power_law(weight) == found
    before = values.copy()
    values.setflags(write=False)
    assert fit_power_law(values) == found
    assert (values == before).all()
    coarse = torch.from_numpy(before).to(torch.bfloat16)
    assert fit_power_law(coarse) == fit_power_law(coarse.float())
    whole = np.floor(before * 10 + 1)
    assert fit_power_law(whole.astype(np.int64)) == fit_power_law(whole)
    assert fit_power_law(torch.from_numpy(whole.astype(np.int64))) == fit_power_law(whole)


def test_ties_weigh_as_often_as_they_occur() -> None:
    values = np.array([1.0, 2.0, 2.0, 2.0, 5.0])
    found = fit_power_law(values, xmin=1.0)
    assert found.alpha == pytest.approx(1 + 5 / (3 * math.log(2) + math.log(5)))
    assert found.ks == pytest.approx(slow_distance(values, 1.0))


def test_numbers_that_nearly_agree_and_numbers_far_apart() -> None:
    near = fit_power_law(np.array([1.0, 1.0 + 2**-52]), xmin=1.0)
    assert near.alpha == pytest.approx(1 + 2 * 2.0**52, rel=1e-12)
    far = fit_power_law(np.array([5e-324, 1.7e308]))
    assert far.alpha == pytest.approx(1 + 2 / (math.log(1.7e308) - math.log(5e-324)), rel=1e-12)
    equal = fit_power_law(np.full(9, 2.0), xmin=1.0)
    assert equal.alpha == pytest.approx(1 + 1 / math.log(2))
    assert equal.ks == pytest.approx(1 - math.exp(-1))  # all survive 2, of the model e^-1


def test_a_long_tail_keeps_its_digits() -> None:
    """300,000 logarithms are added in exact arithmetic instead."""
    values = pareto(2.5, 300_000, 0) * 1e200
    found = fit_power_law(values)
    tail = values[values >= found.xmin]
    exact = 1 + len(tail) / math.fsum(np.log1p((tail - found.xmin) / found.xmin))
    assert found.alpha == pytest.approx(exact, rel=1e-14)


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    fit_power_law(pareto(2.5, 70_000, 0), progress=lambda done, total: seen.append((done, total)))
    assert len(seen) == 3
    assert seen[-1] == (69_999, 69_999)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_the_record_is_plain() -> None:
    found = fit_power_law(pareto(2.5, 100, 0).astype(np.float32))
    assert PowerLawFit(**found.to_json()) == found  # type: ignore[arg-type]
    assert {type(value) for value in found.to_json().values()} == {float, int, bool}
    assert "alpha" in repr(found)
    with pytest.raises(AttributeError):
        found.alpha = 2.0  # type: ignore[misc]


GOOD = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (np.array([1.0, 0.0, 2.0, 0.0]), "positive and finite, got 2 zero of 4 .take magnitudes and leave out zeros"),
        (np.array([1.0, -2.0]), "got 1 negative of 2"),
        (np.array([1.0, np.nan, 2.0]), "got 1 NaN or infinite of 3"),
        (np.array([1.0, np.inf, -np.inf]), "got 1 NaN or infinite, 1 negative of 3"),
        (torch.tensor([0, 1, 2]), "got 1 zero of 3"),
        (np.array([]), "at least two numbers, got none"),
        (np.array([3.0]), "two different numbers or more, got 1 times 3"),
        (np.full(5, 0.5), "two different numbers or more, got 5 times 0.5"),
        ([1.0, 2.0], "a torch tensor or numpy array of real numbers, got list"),
        (np.array([1j, 2]), "of real numbers, got ndarray"),
        (np.array([True, False]), "of real numbers, got ndarray"),
        (np.array(["a"]), "of real numbers, got ndarray"),
        (torch.tensor([True]), "of real numbers, got Tensor"),
        (torch.tensor([1j]), "of real numbers, got Tensor"),
        (torch.eye(3).to_sparse(), "dense tensor"),
        (torch.empty(3, device="meta"), "dense tensor with values"),
        (None, "got NoneType"),
    ],
)
def test_values_that_are_refused(values: object, told: str) -> None:
    with pytest.raises(PactError, match=told) as caught:
        untyped.fit_power_law(values)
    assert caught.value.where == "values"


@pytest.mark.parametrize(
    ("xmin", "told"),
    [
        (0, "finite number > 0, got 0"),
        (-1.0, "finite number > 0"),
        (math.nan, "finite number > 0"),
        (math.inf, "finite number > 0"),
        ("1", "finite number > 0"),
        (True, "finite number > 0"),
        (3.0, "must leave two numbers or more in the tail, .* got 3 .the largest of 3 is 3"),
        (2.5, "must leave two numbers or more"),
        (4.0, "must leave two numbers or more"),
    ],
)
def test_xmin_that_is_refused(xmin: object, told: str) -> None:
    with pytest.raises(PactError, match=told) as caught:
        untyped.fit_power_law(GOOD, xmin=xmin)
    assert caught.value.where == "xmin"
    with pytest.raises(PactError, match="one of them above xmin, got 3"):
        fit_power_law(np.array([1.0, 3.0, 3.0]), xmin=3)
    assert fit_power_law(GOOD, xmin=np.float32(2.0)) == fit_power_law(GOOD, xmin=2)
