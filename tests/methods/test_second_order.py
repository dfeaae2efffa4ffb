"""Second-order rounding of one matrix: the fast way against the obvious one; never worse than the nearest points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpact.methods.calibrated.steps import Steps, allocate_steps, fit_steps
from netpact.methods.calibrated.symbols import objective, round_rows
from netpact.methods.rate_costs import decision_costs
from netpact.methods.second_order import (
    Toll,
    choose_symbols,
    make_up,
    output_errors,
    refine,
    round_nearest,
    round_second_order,
    unpredictable_variances,
)


def problem(rows: int, columns: int, seed: int = 0, rank: int | None = None) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    factor = random.normal(size=(columns, rank or 2 * columns)) * np.exp(random.normal(size=(columns, 1)))
    weight = random.normal(size=(rows, columns))
    return weight, 0.5 * np.exp(0.3 * random.normal(size=rows)), factor @ factor.T / (rank or 2 * columns)


def toll_of(symbols: Any, most: int, price: float) -> Toll:
    counts = np.bincount(symbols.ravel() + most, minlength=2 * most + 1).astype(np.float64)
    return Toll(price, decision_costs(most).symbol_bits(counts))


def round_slowly(weight: Any, steps: Any, moments: Any, most: int, toll: Toll | None) -> Any:
    """By definition: round a column, then let all that come later take the values that leave the least error."""
    damped = moments + np.eye(len(moments)) * 0.01 * np.diag(moments).mean()
    order = list(np.argsort(-np.diag(moments), kind="stable"))
    values = weight / steps[:, None]
    wanted, symbols = values.copy(), np.zeros(weight.shape, dtype=np.int64)
    for place, column in enumerate(order):
        later = order[place + 1 :]
        inner = damped[np.ix_(later, later)]
        across = damped[np.ix_(later, [column])][:, 0]
        curve = damped[column, column] - (across @ np.linalg.solve(inner, across) if later else 0.0)
        symbols[:, column] = choose_symbols(wanted[:, column], curve, most, toll)
        done = order[: place + 1]
        if later:
            off = (symbols[:, done] - values[:, done]) @ damped[np.ix_(done, later)]
            wanted[:, later] = values[:, later] - np.linalg.solve(inner, off.T).T
    return symbols


@pytest.mark.parametrize(("rows", "columns"), [(5, 1), (4, 9), (3, 64), (3, 65), (2, 150)])
@pytest.mark.parametrize("price", [0.0, 0.05])
def test_the_fast_way_gives_the_symbols_of_the_obvious_one(rows: int, columns: int, price: float) -> None:
    weight, steps, moments = problem(rows, columns)
    toll = toll_of(round_nearest(weight, steps, most=7), 7, price) if price else None
    fast = round_second_order(weight, steps, moments, most=7, toll=toll)
    assert np.array_equal(fast, round_slowly(weight, steps, moments, 7, toll))


@pytest.mark.parametrize("price", [0.0, 0.05])
def test_refining_changes_one_symbol_after_the_other(price: float) -> None:
    weight, steps, moments = problem(4, 130, seed=3)
    start = round_nearest(weight, steps, most=5)
    toll = toll_of(start, 5, price) if price else None
    values, symbols = weight / steps[:, None], start.copy()
    for column in range(130):
        slope = (symbols - values) @ moments[:, column]
        best = symbols[:, column] - slope / moments[column, column]
        symbols[:, column] = choose_symbols(best, moments[column, column], 5, toll, known=symbols[:, column])
    assert np.array_equal(refine(weight, steps, moments, start, most=5, toll=toll), symbols)
    before, after = (output_errors(values, own.astype(float), moments).sum() for own in (start, symbols))
    if toll is not None:
        before, after = (own + price * toll.bits[found + 5].sum() for own, found in ((before, start), (after, symbols)))
    assert after < before


def test_the_chosen_symbol_is_the_cheapest_of_all() -> None:
    random = np.random.default_rng(0)
    values = 4 * random.laplace(size=400)
    toll = toll_of(round_nearest(values[:, None], np.ones(400), most=9), 9, 0.15)
    every = np.arange(-9, 10)
    costs = 1.3 * np.square(every[:, None] - values) + 0.15 * toll.bits[:, None]
    found = choose_symbols(values, 1.3, 9, toll)
    assert np.allclose(costs[found + 9, np.arange(400)], costs.min(axis=0))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    rows=st.integers(1, 6),
    columns=st.integers(1, 20),
    rank=st.integers(1, 20),
    groups=st.integers(1, 3),
    rate=st.sampled_from([0.0, 0.05, 0.5]),
    bits=st.integers(2, 5),
    seed=st.integers(0, 1000),
)
def test_the_objective_is_at_most_that_of_the_nearest_points(
    rows: int, columns: int, rank: int, groups: int, rate: float, bits: int, seed: int
) -> None:
    weight = np.concatenate([problem(rows, columns, seed + k)[0] for k in range(groups)])
    moments = [problem(rows, columns, seed + k, rank)[2] for k in range(groups)]
    steps = fit_steps(weight, [np.diag(own) for own in moments], bits=bits, per_channel=True)
    found = round_rows(weight, moments, steps, rate=rate)
    nearest = round_nearest(weight, steps.values, most=steps.most)
    assert np.abs(found).max() <= steps.most == (1 << bits - 1) - 1
    assert objective(weight, moments, steps, found, rate=rate) <= objective(weight, moments, steps, nearest, rate=rate)


def test_the_objective_is_what_it_says() -> None:
    weight, _, moments = problem(5, 12)
    steps = fit_steps(weight, [np.diag(moments)], bits=3, per_channel=True)
    symbols = round_nearest(weight, steps.values, most=steps.most)
    off = symbols * steps.values[:, None] - weight
    errors = np.array([row @ moments @ row for row in off])
    assert objective(weight, [moments], steps, symbols, rate=0.0) == pytest.approx(errors.sum())
    bits = decision_costs(3).total_bits(np.bincount(symbols.ravel() + 3, minlength=7).astype(float))
    curve = unpredictable_variances(moments).mean()
    said = (errors / (steps.values**2 * curve)).sum() + 0.2 * bits
    assert objective(weight, [moments], steps, symbols, rate=0.2) == pytest.approx(said)


def test_related_inputs_gain_much() -> None:
    weight, steps, moments = problem(20, 40, rank=8)
    nearest = round_nearest(weight, steps, most=7)
    found = round_rows(weight, [moments], Steps(np.zeros(20, dtype=np.int64), 7), rate=0.0)
    plain = output_errors(weight, nearest * steps[:, None], moments).sum()
    assert output_errors(weight, found * np.ones((20, 1)), moments).sum() < 0.3 * plain


def test_weights_make_up_for_changed_inputs() -> None:
    random = np.random.default_rng(1)
    inputs, change = random.normal(size=(500, 6)), np.eye(6) + 0.1 * random.normal(size=(6, 6))
    changed, weight = inputs @ change, random.normal(size=(3, 6))
    moments, beside = changed.T @ changed / 500, inputs.T @ changed / 500
    found = make_up(weight, moments, beside)
    left = np.square(changed @ found.T - inputs @ weight.T).mean()
    assert left < 0.001 * np.square(changed @ weight.T - inputs @ weight.T).mean()
    assert np.allclose(make_up(weight, moments, moments), weight)


def test_allocated_steps_give_every_weight_the_same_share() -> None:
    weight = np.random.default_rng(2).normal(size=(8, 50))
    sensitivities = np.geomspace(0.1, 10, 8)
    steps = allocate_steps(weight, [2.0], sensitivities, share=1e-5, per_channel=True)
    each = steps.values**2 / 12 * 2.0 * (sensitivities + 0.01 * sensitivities.mean())
    assert np.all((each > 0.75e-5) & (each < 1.3e-5))  # rungs are 12 to 25 % apart
    one = allocate_steps(weight, [2.0], sensitivities, share=1e-5, per_channel=False)
    assert len(set(one.rungs)) == 1
    idle = allocate_steps(weight, [2.0], np.zeros(8), share=1e-5, per_channel=True)
    assert np.isfinite(idle.values).all()


@pytest.mark.parametrize("variance", [0.0, -1e-18, 1e-40])
def test_inputs_that_never_vary_are_no_reason_to_fail(variance: float) -> None:
    """As behind a layer that has no weights left: then every weight goes to its nearest point."""
    weight, moments = np.array([[0.4, -1.2, 2.6]]), np.eye(3) * variance
    nearest = round_nearest(weight, np.ones(1), most=7)
    assert (round_second_order(weight, np.ones(1), moments, most=7) == nearest).all()
    assert np.isfinite(make_up(weight, moments, moments)).all()
    assert np.isfinite(unpredictable_variances(moments)).all()


def test_pruned_weights_stay_0() -> None:
    draw = np.random.default_rng(5)
    weight, factor = draw.normal(size=(6, 12)), draw.normal(size=(12, 12))
    zeros = draw.random(weight.shape) < 0.6
    weight[zeros] = 0
    moments, steps = factor @ factor.T, np.full(6, 0.3)
    free = round_second_order(weight, steps, moments, most=7)
    kept = round_second_order(weight, steps, moments, most=7, zeros=zeros)
    assert free[zeros].any(), "else nothing is tested"
    assert not kept[zeros].any()
    assert not refine(weight, steps, moments, kept, most=7, zeros=zeros)[zeros].any()
