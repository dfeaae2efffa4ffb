"""Rounding that looks at the bits: never worse by its own objective, plain at price 0, and shorter files."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from netpact import MagnitudePrune, Quantize, RandomPrune, compress, seal
from netpact.coding import Contexts, Meter
from netpact.coding.forms import Codebook, CodedTensor, Marked, Scaled, SparseMatrix, Uniform, Zero
from netpact.coding.forms.sparse import DROPPED
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.methods.approximations import PrunedEntries
from netpact.methods.grids import CodebookGrid, Grid, PerChannel, Priced, TernaryGrid, UniformGrid, make_grid
from netpact.methods.rate_costs import Pricing
from netpact.methods.rate_distortion import RateDistortion, trade_bits
from netpact.methods.sparse_forms import shortest_sparse
from netpact.network import Network

RANDOM = np.random.default_rng(3)
SHAPE = (40, 60)
DENSE = RANDOM.laplace(size=SHAPE)
LIKELY = np.exp(RANDOM.normal(size=40))[:, None] * np.exp(RANDOM.normal(size=60))
PRUNED = np.where(RANDOM.random(SHAPE) < 0.1 * LIKELY / LIKELY.mean(), DENSE, 0.0)
IMPORTANCE = RANDOM.random((1, 60)) ** 4
GRIDS: list[Grid] = [UniformGrid(3), UniformGrid(4), UniformGrid(8), CodebookGrid(2), CodebookGrid(4), TernaryGrid(0.4)]
each_grid = pytest.mark.parametrize("grid", GRIDS, ids=str)


def objective(coded: CodedTensor, values: Any, price: float, spacing: float, importance: Any = 1.0) -> float:
    """By definition, weight by weight; importance in units of its mean over what is not 0, and a hundredth of it."""
    spread = np.broadcast_to(importance, values.shape)
    mean = spread[values != 0].mean()
    meter = Meter()
    coded.form.code_symbols(meter, coded.symbols, coded.shape, Contexts())
    errors = sum(
        (weight / mean + 0.01) / 1.01 * ((point - value) / spacing) ** 2
        for weight, point, value in zip(spread.flat, coded.weights().flat, values.flat, strict=True)
    )
    return float(errors) + price * meter.total


def spacing_of(coded: CodedTensor) -> float:
    form = coded.form.inner if isinstance(coded.form, Marked) else coded.form
    if not isinstance(form, Codebook):
        return form.step.value  # type: ignore[attr-defined]
    points = sorted(0.0 if v is None else -v[1].value if v[0] else v[1].value for v in form.values)
    return float(points[-1] - points[0]) / (len(points) - 1)


@each_grid
@pytest.mark.parametrize("price", [0.05, 0.5])
@pytest.mark.parametrize("weighed", [False, True])
def test_the_objective_is_at_most_that_of_plain_rounding(grid: Grid, price: float, weighed: bool) -> None:
    importance = IMPORTANCE if weighed else None
    for values, plain in (
        (DENSE, grid.round(DENSE)),
        (PRUNED, PrunedEntries(PRUNED).code(grid)),
    ):
        [traded] = trade_bits([plain], [values], price=price, importance=[importance])
        [again] = trade_bits([plain], [values], price=price, importance=[importance])
        if isinstance(traded.form, Zero):
            continue
        assert traded.form == plain.form
        assert np.array_equal(traded.symbols, again.symbols)
        how = (price, spacing_of(plain), 1.0 if importance is None else importance)
        assert objective(traded, values, *how) <= objective(plain, values, *how) + 1e-6
        assert set(traded.symbols) <= set(plain.symbols)
        assert (traded.weights()[values == 0] == plain.weights()[values == 0]).all()


@pytest.mark.parametrize("grid", [UniformGrid(3), CodebookGrid(2), TernaryGrid(0.4)], ids=str)
def test_no_other_choice_of_one_weight_is_better_in_the_end(grid: Grid) -> None:
    """At a fixed point, but for points beyond the reach and for what one symbol more changes in the bits."""
    values, price = DENSE[:6], 0.1
    plain = grid.round(values)
    [traded] = trade_bits([plain], [values], price=price)
    best = objective(traded, values, price, spacing_of(plain))
    for place in range(0, values.size, 17):
        for symbol in set(plain.symbols.tolist()):
            symbols = traded.symbols.copy()
            symbols[place] = symbol
            other = CodedTensor(plain.form, symbols, plain.shape)
            assert objective(other, values, price, spacing_of(plain)) > best - 0.25


@each_grid
def test_price_zero_is_plain_rounding(grid: Grid) -> None:
    for values in (DENSE, PRUNED):
        assert np.array_equal(Priced(grid, 0.0).round(values).symbols, grid.round(values).symbols)
        pruned = PrunedEntries(values, IMPORTANCE).code(Priced(grid, 0.0))
        assert np.array_equal(pruned.symbols, PrunedEntries(values).code(grid).symbols)


def test_what_would_be_worse_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = UniformGrid(4).round(DENSE)
    monkeypatch.setattr(RateDistortion, "_propose", lambda self, symbols, pricing: np.roll(symbols, 1))
    [traded] = trade_bits([plain], [DENSE], price=0.1)
    assert np.array_equal(traded.symbols, plain.symbols)


def test_zeros_stay_where_they_are_the_dearest_symbol() -> None:
    values = np.ones(SHAPE)
    values[::10, ::20] = 0.0
    coded = PrunedEntries(values).code(Priced(TernaryGrid(1.0), 5.0))
    assert np.array_equal(coded.weights() == 0, values == 0)


def test_the_price_of_a_place_is_what_the_coder_would_save() -> None:
    """One kept weight after another is left out, in rows and columns of all fillings, and the rest coded again."""
    coded = PrunedEntries(PRUNED).code(UniformGrid(4))
    assert isinstance(coded.form, SparseMatrix)
    prices = Pricing.of(coded.form, coded.symbols).prices([coded])

    def bits(symbols: Any) -> float:
        meter = Meter()
        coded.form.code_symbols(meter, symbols, coded.shape, Contexts())
        return meter.total

    whole, off = bits(coded.symbols), []
    for entry in np.flatnonzero(coded.symbols != DROPPED)[::5]:
        less = coded.symbols.copy()
        less[entry] = DROPPED
        chosen = np.searchsorted(prices.alphabet, [coded.symbols[entry], DROPPED])
        dear, cheap = prices.bits(chosen, np.array([entry, entry]))
        off.append(dear - cheap - (whole - bits(less)))
    assert len(off) > 30
    assert abs(np.median(off)) < 1.0
    assert np.quantile(np.abs(off), 0.8) < 2.0


def test_a_higher_price_takes_fewer_bits_and_more_error() -> None:
    found = []
    for price in (0.0, 0.05, 0.2, 1.0):
        coded = PrunedEntries(PRUNED).code(make_grid("uniform", bits=4, rate=price))
        meter = Meter()
        coded.form.code_symbols(meter, coded.symbols, coded.shape, Contexts())
        found.append((meter.total, float(np.square(coded.weights() - PRUNED).sum())))
    assert found == sorted(found, key=lambda pair: (-pair[0], pair[1]))
    assert found[-1][0] < 0.5 * found[0][0]


def test_unimportant_weights_go_first() -> None:
    """Two halves of equal weights; the inputs of the first are ten times smaller."""
    values = np.tile(RANDOM.normal(size=(30, 20)), 2)
    importance = np.repeat([0.01, 1.0], 20)[None]
    coded = make_grid("uniform", bits=4, rate=0.3).weighed([importance]).round(values)
    off = np.square(coded.weights() - values)
    assert off[:, :20].sum() > 2 * off[:, 20:].sum()
    even = np.square(make_grid("uniform", bits=4, rate=0.3).round(values).weights() - values)
    assert even[:, :20].sum() == pytest.approx(even[:, 20:].sum())


def test_arrays_of_one_grid_are_traded_together() -> None:
    arrays = [DENSE[:20], DENSE[20:]]
    together = Priced(UniformGrid(4), 0.1).round_all(arrays)
    assert [coded.shape for coded in together] == [values.shape for values in arrays]
    whole = Priced(UniformGrid(4), 0.1).round(DENSE)
    # But for the order in which the coder meets them.
    assert np.count_nonzero(np.concatenate([coded.symbols for coded in together]) != whole.symbols) < 0.02 * 2400


def test_nothing_left_is_a_tensor_of_zeros() -> None:
    assert isinstance(PrunedEntries(PRUNED).code(make_grid("uniform", bits=4, rate=1e6)).form, Zero)


def test_channels_with_scales_are_traded_too() -> None:
    coded = make_grid("uniform", bits=4, per_channel=True, rate=0.2).round(DENSE)
    plain = PerChannel(UniformGrid(4)).round(DENSE)
    assert isinstance(coded.form, Scaled)
    assert coded.form == plain.form
    assert np.count_nonzero(coded.symbols[40:]) < np.count_nonzero(plain.symbols[40:])


def test_where_rows_and_columns_differ_places_are_coded_by_them() -> None:
    chosen = shortest_sparse(PrunedEntries(PRUNED).code(UniformGrid(4)))
    assert chosen.form == SparseMatrix(chosen.form.inner)  # type: ignore[attr-defined]
    patternless = np.where(RANDOM.random(SHAPE) < 0.1, DENSE, 0.0)
    assert isinstance(PrunedEntries(patternless).code(UniformGrid(4)).form, Uniform)
    for coded in (chosen, shortest_sparse(chosen)):
        assert np.array_equal(coded.weights() == 0, PRUNED == 0)


@pytest.mark.parametrize("method", [partial(Quantize, rounding="nearest"), MagnitudePrune, RandomPrune])
def test_methods_write_shorter_files(method: Any, linear: Network, digits: Data) -> None:
    plain, same, shorter, weighed = (
        seal(compress(linear, method(bits=5, **options), samples=samples))
        for options, samples in (({}, None), ({"rate": 0.0}, digits), ({"rate": 0.3}, None), ({"rate": 0.3}, digits))
    )
    assert same.message == plain.message
    assert len(shorter.message) < len(plain.message)
    assert len(weighed.message) < len(plain.message)
    assert weighed.message != shorter.message


def test_bad_rates_are_refused() -> None:
    for rate in (-0.1, float("nan"), float("inf"), "much"):
        with pytest.raises(PactError, match="rate"):
            Quantize(rate=rate)  # type: ignore[arg-type]
    with pytest.raises(PactError, match="bits: with a rate at most 10 are allowed, got 12"):
        MagnitudePrune(bits=12, rate=0.1)
