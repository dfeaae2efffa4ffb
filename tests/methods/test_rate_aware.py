"""Rate-aware training: its price of bits against the real message, and what it does to a network."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from methods.conformance import MethodConformance
from torch import nn

from netpact.coding import Contexts, Meter, ShortFloat
from netpact.coding.format import Compressed, seal
from netpact.coding.format.loading import load_module
from netpact.coding.forms import Form, Ternary, Uniform, Zero
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.methods import Method, Quantize, RateAware, compress, make_method
from netpact.methods.rate_aware import train_symbols
from netpact.methods.rate_costs import decision_costs
from netpact.methods.rate_sweep import measure, sweep
from netpact.methods.rate_symbols import SoftSymbols
from netpact.methods.rate_training import fine_tune
from netpact.network import Network, trace
from netpact.training import error_rate
from netpact.training.memory import gather

_UNIT = ShortFloat(exponent=0, mantissa=0)


class TestRateAware(MethodConformance):
    sizes: ClassVar[list[Method]] = [RateAware(epochs=2, rate=rate) for rate in (8.0, 1.0, 0.0)]
    bad: ClassVar[list[dict[str, Any]]] = [
        {"epochs": 0},
        {"epochs": 2.0},
        {"epochs": True},
        {"rate": -0.1},
        {"rate": float("nan")},
        {"rate": float("inf")},
        {"rate": "high"},
        {"rate": True},
        {"learning_rate": 0.0},
        {"learning_rate": -1.0},
        {"learning_rate": float("inf")},
        {"levels": 0},
        {"levels": 128},
        {"levels": 1.5},
        {"seed": -1},
        {"seed": None},
    ]


def message_bits(form: Form, symbols: np.ndarray[Any, Any]) -> float:
    meter = Meter()
    form.code_symbols(meter, symbols.astype(np.int64), (len(symbols),), Contexts())
    return meter.total


@pytest.mark.parametrize("levels", [1, 2, 3, 7, 100])
def test_costs_are_those_of_the_coder(levels: int) -> None:
    """The whole tensor against the coder's own meter; one more symbol against the difference that it makes."""
    random = np.random.default_rng(levels)
    costs = decision_costs(levels)
    symbols = np.clip(np.rint(random.laplace(scale=levels / 3, size=900)), -levels, levels).astype(np.int64)
    counts = np.bincount(symbols + levels, minlength=2 * levels + 1).astype(float)
    form: Form = Ternary(_UNIT) if levels == 1 else Uniform(_UNIT)
    # Counts that are brought up to date in blocks, and planes in order: a little more than in whatever order.
    assert message_bits(form, symbols) == pytest.approx(costs.total_bits(counts), rel=0.02)
    more = costs.symbol_bits(counts)
    for symbol in (-levels, 0, 1):
        one = np.zeros(2 * levels + 1)
        one[symbol + levels] = 1
        difference = costs.total_bits(counts + one) - costs.total_bits(counts)
        assert more[symbol + levels] == pytest.approx(difference, abs=1e-6)


def test_ternary_costs_by_hand() -> None:
    """Of 8 places 2 are marked, one of them negative: -log2 of (times so + 1/2) / (times met + 1)."""
    bits = decision_costs(1).symbol_bits(np.array([1.0, 6.0, 1.0]))
    marked, unmarked, half = np.log2(9 / 2.5), np.log2(9 / 6.5), 1.0
    assert bits == pytest.approx([marked + half, unmarked, marked + half])
    # The same tensor place by place: after n decisions of which k were so, one more such costs log2((n + 1)/(k + 1/2)).
    places = [(n + 1) / (n + 0.5) for n in range(6)] + [7 / 0.5, 8 / 1.5]
    signs = [1 / 0.5, 2 / 0.5]
    total = decision_costs(1).total_bits(np.array([1.0, 6.0, 1.0]))
    assert total == pytest.approx(np.log2(places + signs).sum())


@pytest.mark.parametrize("network", ["linear", "mixed"])
@pytest.mark.parametrize(("rate", "levels"), [(0.0, 1), (0.3, 3), (3.0, 1), (3.0, 20)])
def test_the_estimate_is_the_length_of_the_message(
    network: str, rate: float, levels: int, digits: Data, request: pytest.FixtureRequest
) -> None:
    traced: Network = request.getfixturevalue(network)
    options = RateAware(epochs=3, rate=rate, levels=levels)
    whole = compress(traced, options, samples=digits.train)
    symbols = train_symbols(traced, digits.train, options, None)
    real = 8 * len(seal(whole).message)
    assert abs(symbols.estimate_bits() - real) <= 0.03 * real + 32


def slope_of_bits(values: list[float], *, levels: int) -> list[float]:
    symbols = SoftSymbols({"w": torch.ones(len(values))}, levels=levels)
    with torch.no_grad():
        symbols.values.copy_(torch.tensor(values))
    symbols.price()
    slopes: list[float] = symbols.bit_gradient().tolist()
    return slopes


def test_the_gradient_joins_the_costs_by_straight_lines() -> None:
    values = [-2.0, -1.7, -0.4, 0.0, 0.3, 0.1, 1.2, 2.0]
    hard = np.rint(np.array(values)).astype(np.int64)
    bits = decision_costs(2).symbol_bits(np.bincount(hard + 2, minlength=5).astype(float))
    steps = np.diff(bits)
    assert slope_of_bits(values, levels=2) == pytest.approx(steps[[0, 0, 1, 2, 2, 2, 3, 3]], rel=1e-6)


def test_few_marks_are_pulled_to_zero_and_many_are_not() -> None:
    few = slope_of_bits([0.2] * 50 + [0.9, -0.9], levels=1)
    assert few[-2] > 3
    assert few[-1] < -3
    many = slope_of_bits([0.9] * 50 + [0.2], levels=1)
    assert many[-1] < 0


def test_rounding_is_straight_through() -> None:
    symbols = SoftSymbols({"w": torch.tensor([[0.3, -0.9], [2.0, 0.1]])}, levels=2)
    weights = symbols.weights()["w"]
    step = symbols.log_steps.exp()
    assert torch.equal(weights, (symbols.values.round() * step).view(2, 2))
    (weights * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert symbols.values.grad is not None
    assert symbols.values.grad.tolist() == pytest.approx((torch.arange(1, 5) * step).tolist())


def test_forms_follow_from_the_symbols() -> None:
    symbols = SoftSymbols({name: torch.ones(3) for name in ("zero", "ternary", "uniform")}, levels=3)
    with torch.no_grad():
        symbols.values.copy_(torch.tensor([0.2, -0.4, 0.0, 0.2, -1.4, 1.0, 0.0, 2.6, -1.0]))
    coded = symbols.code()
    assert [type(tensor.form) for tensor in coded.values()] == [Zero, Ternary, Uniform]
    assert coded["uniform"].symbols.tolist() == [0, 3, -1]


def test_training_itself_shortens_the_message(linear: Network, digits: Data) -> None:
    bits = []
    for rate in (0.0, 2.0):
        symbols = SoftSymbols(dict(linear.module.named_parameters()), levels=3)
        options = RateAware(epochs=6, rate=rate)
        fine_tune(linear.module, symbols, gather(digits.train), options, lambda done, total: None)
        bits.append(symbols.estimate_bits())
        steps = symbols.log_steps.exp().tolist()
        assert steps == pytest.approx([ShortFloat.nearest(step).value for step in steps], rel=1e-6)
    assert bits[1] < 0.8 * bits[0]


def test_neighbours_of_a_symbol_cost_what_the_table_says() -> None:
    symbols = SoftSymbols({"w": torch.ones(4)}, levels=1)
    with torch.no_grad():
        symbols.values.copy_(torch.tensor([-1.0, 0.0, 0.0, 1.0]))
    symbols.price()
    low, middle, high = decision_costs(1).symbol_bits(np.array([1.0, 2.0, 1.0]))
    up, down = symbols.neighbour_bits()
    assert up.tolist() == pytest.approx([middle - low, high - middle, high - middle, np.inf])
    assert down.tolist() == pytest.approx([np.inf, low - middle, low - middle, middle - high])


def test_the_sweep_lowers_the_bound_and_undoes_what_does_not(linear: Network, digits: Data) -> None:
    module, data = linear.module, gather(digits.train)
    symbols = SoftSymbols(dict(module.named_parameters()), levels=2)
    symbols.harden()
    before = measure(module, symbols, data)
    calls: list[int] = []
    after = sweep(module, symbols, data, rate=1.0, rounds=40, progress=lambda done, _: calls.append(done))
    assert after.bound < 0.9 * before.bound
    assert measure(module, symbols, data) == after
    assert torch.equal(symbols.values, symbols.values.round())
    assert float(symbols.values.detach().abs().max()) <= 2
    assert calls == sorted(calls)


def test_a_sweep_ends_where_no_change_promises_anything() -> None:
    """With a price beyond everything the symbols go to zero, and there it stops long before the last round."""
    data = gather(ten_numbers(1.0))
    module = nn.Sequential(nn.Flatten(), nn.Linear(10, 10)).requires_grad_(False)
    symbols = SoftSymbols(dict(module.named_parameters()), levels=1)
    with torch.no_grad():
        symbols.values.zero_()
    calls: list[int] = []
    sweep(module, symbols, data, rate=1e9, rounds=1000, progress=lambda done, _: calls.append(done))
    assert calls == []
    assert not symbols.values.any()


def test_errors_stay_low_and_the_message_gets_short(linear: Network, digits: Data) -> None:
    """Against rounding alone at about the same length."""

    def wrong(compressed: Compressed) -> float:
        errors, count = error_rate(load_module(compressed, None), digits.train)
        return errors / count

    trained = compress(linear, RateAware(epochs=12, rate=1.0), samples=digits.train)
    rounded = compress(linear, Quantize(bits=2), samples=digits.train)
    assert len(seal(trained).message) <= len(seal(rounded).message)
    assert wrong(trained) < 0.06 < wrong(rounded)


def test_progress_and_a_seed_that_matters(linear: Network, digits: Data) -> None:
    calls: list[tuple[int, int]] = []
    state = torch.random.get_rng_state()
    first = compress(
        linear, RateAware(epochs=3), samples=digits.train, progress=lambda done, total: calls.append((done, total))
    )
    done, totals = zip(*calls, strict=True)
    assert list(done) == sorted(done)
    assert done[:3] == (1, 2, 3)
    assert set(totals) == {done[-1]}
    assert torch.equal(state, torch.random.get_rng_state())
    other = compress(linear, RateAware(epochs=3, seed=1), samples=digits.train)
    assert seal(first).message != seal(other).message


def test_batch_norm_is_kept_exactly(mixed: Network, digits: Data) -> None:
    coded = compress(mixed, RateAware(epochs=1), samples=digits.train).tensors
    for name in ("1.weight", "1.bias"):
        assert np.array_equal(coded[name].weights(), mixed.module.get_parameter(name).detach().double().numpy())


def test_it_works_under_no_grad(linear: Network, digits: Data) -> None:
    with torch.no_grad():
        inside = compress(linear, RateAware(epochs=1), samples=digits.train)
    assert seal(inside).message == seal(compress(linear, RateAware(epochs=1), samples=digits.train)).message


def test_what_cannot_be_trained_is_refused(linear: Network, digits: Data) -> None:
    with pytest.raises(PactError, match=r"rate-aware: this method trains on the training samples and was given none"):
        compress(linear, RateAware())
    norm_only = trace(nn.Sequential(nn.Flatten(), nn.BatchNorm1d(10)), ten_numbers(1.0))
    with pytest.raises(PactError, match="no linear or conv layer to train"):
        compress(norm_only, RateAware(), samples=ten_numbers(1.0))


def ten_numbers(scale: float) -> ArraySamples:
    inputs = scale * np.random.default_rng(0).normal(size=(40, 10))
    return ArraySamples(inputs.astype(np.float32), np.arange(40) % 10, "ten numbers", 10)


def test_divergence_is_told_with_its_epoch() -> None:
    samples = ten_numbers(3e37)
    network = trace(nn.Sequential(nn.Flatten(), nn.Linear(10, 10)), samples)
    with pytest.raises(PactError, match=r"rate-aware, epoch 1: .*NaN or infinite.*lower the learning rate \(now 9\)"):
        compress(network, RateAware(epochs=2, learning_rate=9.0), samples=samples)


def test_a_step_that_leaves_all_bounds_is_told() -> None:
    samples = ten_numbers(1.0)
    network = trace(nn.Sequential(nn.Flatten(), nn.Linear(10, 10)), samples)
    with pytest.raises(PactError, match=r"rate-aware, epoch 1: .*lower the learning rate \(now 1000\)"):
        compress(network, RateAware(epochs=2, learning_rate=1000.0), samples=samples)


def test_it_is_made_by_name() -> None:
    assert make_method("rate-aware", {"rate": "0.5", "levels": "1"}) == RateAware(rate=0.5, levels=1)
