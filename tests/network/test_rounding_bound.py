"""The rounding bound is true: other machines' float32 runs and the run in real numbers lie within the spread."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from network.rounding_nets import NETS, excess, make_inputs, make_net, run_with_spread
from torch import nn

from netpact.core.errors import PactError
from netpact.network import ToleranceRun
from netpact.network.rounding import tolerance as rounding
from netpact.network.rounding.tolerance import Rounding

SCALES = [1e-30, 1e-3, 1.0, 1e6]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", NETS)
@torch.no_grad()
def test_float32_runs_lie_within_the_spread(name: str, scale: float) -> None:
    """Batch sizes and threads change the order of summation; the bound holds for all of them."""
    module, inputs = make_net(name), make_inputs(name, scale=scale)
    logits = run_with_spread(module, inputs)
    x = torch.from_numpy(inputs)
    ratios = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for size in (1, 3, 16):
            ratios.append(excess(torch.cat([module(part.clone()) for part in x.split(size)]), logits))
    assert max(ratios) <= 1, f"{name} at {scale}: measured/spread {max(ratios):.3g}"
    if scale == 1.0:
        loose = 1 / np.median(ratios)
        assert loose < 2000, f"{name}: the spread is {loose:.3g} times the median measured difference"


@pytest.mark.parametrize("name", NETS)
@torch.no_grad()
def test_float64_runs_lie_within_their_spread(name: str) -> None:
    module, inputs = make_net(name), make_inputs(name, scale=1.0)
    logits = run_with_spread(module, inputs, arithmetic="float64")
    double = module.double()
    alone = torch.cat([double(part) for part in torch.from_numpy(inputs).double().split(1)])
    assert excess(alone, logits) <= 1
    assert float(logits.spread.max()) < 1e-9


def float32_dot(products: np.ndarray, start: np.float32) -> np.float32:
    total = start
    for product in products:
        total = np.float32(total + product)
    return total


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 60), scale=st.sampled_from([1e-38, 1e-20, 1.0, 1e15]))
@settings(max_examples=60, deadline=None)
def test_sums_in_any_order_and_in_real_numbers(seed: int, size: int, scale: float) -> None:
    random = np.random.default_rng(seed)
    layer = nn.Linear(size, 2)
    weight = (random.standard_normal((2, size)) * 10.0 ** random.integers(-6, 6, (2, size))).astype(np.float32)
    bias = random.standard_normal(2).astype(np.float32)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weight))
        layer.bias.copy_(torch.from_numpy(bias))
    x = (random.standard_normal((2, size)) * scale).astype(np.float32)
    logits = run_with_spread(layer, x)
    for row in range(2):
        for unit in range(2):
            value, spread = float(logits.values[row, unit]), float(logits.spread[row, unit])
            exact = sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(weight[unit], x[row], strict=True)))
            exact += Fraction(float(bias[unit]))
            assert abs(exact - Fraction(value)) <= Fraction(spread)
            order = random.permutation(size)
            with np.errstate(under="ignore"):
                machine = float32_dot((weight[unit] * x[row])[order], bias[unit])
            assert abs(Fraction(float(machine)) - Fraction(value)) <= Fraction(spread)


def exact_relu(values: list[Fraction]) -> list[Fraction]:
    return [max(value, Fraction(0)) for value in values]


def exact_linear(layer: nn.Linear, values: list[Fraction]) -> list[Fraction]:
    rows = [[Fraction(float(w)) for w in row] for row in layer.weight.detach()]
    return [
        sum((w * v for w, v in zip(row, values, strict=True)), Fraction(float(b)))
        for row, b in zip(rows, layer.bias.detach(), strict=True)
    ]


@pytest.mark.parametrize("scale", SCALES)
def test_a_relu_network_in_rational_arithmetic(scale: float) -> None:
    first, second = nn.Linear(6, 5), nn.Linear(5, 3)
    inputs = (np.random.default_rng(1).standard_normal((8, 6)) * scale).astype(np.float32)
    for arithmetic in ("float32", "float64"):
        logits = run_with_spread(nn.Sequential(first, nn.ReLU(), second), inputs, arithmetic=arithmetic)
        for row, sample in enumerate(inputs):
            exact = exact_linear(second, exact_relu(exact_linear(first, [Fraction(float(v)) for v in sample])))
            for unit, value in enumerate(exact):
                off = abs(value - Fraction(float(logits.values[row, unit])))
                assert off <= Fraction(float(logits.spread[row, unit]))


def test_average_and_largest_in_rational_arithmetic() -> None:
    module = nn.Sequential(nn.AvgPool2d(3, stride=1), nn.MaxPool2d(2), nn.Flatten())
    inputs = np.random.default_rng(2).standard_normal((4, 1, 5, 5)).astype(np.float32)
    logits = run_with_spread(module, inputs)
    for row, image in enumerate(inputs[:, 0]):
        exact = [[Fraction(float(v)) for v in line] for line in image]
        means = [
            [sum(exact[i + a][j + b] for a in range(3) for b in range(3)) / Fraction(9) for j in range(3)]
            for i in range(3)
        ]
        largest = max(means[i][j] for i in range(2) for j in range(2))
        off = abs(largest - Fraction(float(logits.values[row, 0])))
        assert off <= Fraction(float(logits.spread[row, 0]))


def exact_tanh_gelu(v: Any) -> Any:
    inner = mpmath.sqrt(2 / mpmath.pi) * (v + mpmath.mpf("0.044715") * v**3)
    return v / 2 * (1 + mpmath.tanh(inner))


SMOOTH: dict[str, tuple[nn.Module, Callable[[Any], Any]]] = {
    "tanh": (nn.Tanh(), mpmath.tanh),
    "sigmoid": (nn.Sigmoid(), lambda v: 1 / (1 + mpmath.exp(-v))),
    "silu": (nn.SiLU(), lambda v: v / (1 + mpmath.exp(-v))),
    "gelu": (nn.GELU(), lambda v: v * mpmath.erfc(-v / mpmath.sqrt(2)) / 2),
    "gelu by tanh": (nn.GELU(approximate="tanh"), exact_tanh_gelu),
    "elu": (nn.ELU(0.7), lambda v: v if v > 0 else mpmath.mpf(0.7) * mpmath.expm1(v)),
    "softplus": (nn.Softplus(0.7, 16), lambda v: v if 0.7 * v > 16 else mpmath.log1p(mpmath.exp(v * 0.7)) / 0.7),
    "hardsigmoid": (nn.Hardsigmoid(), lambda v: min(max(v + 3, mpmath.mpf(0)), mpmath.mpf(6)) / 6),
    "hardswish": (nn.Hardswish(), lambda v: v * min(max(v + 3, mpmath.mpf(0)), mpmath.mpf(6)) / 6),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_functions_against_forty_digits(name: str) -> None:
    layer, function = SMOOTH[name]
    # Among them where exp overflows in float32, and the two sides of softplus's threshold.
    edges = [-95.0, -88.8, 1e-20, -1e-30, 22.857, 22.858, 80.0]
    inputs = np.concatenate([np.linspace(-12, 12, 400), edges]).astype(np.float32)[:, None]
    logits = run_with_spread(layer, inputs)
    single = layer(torch.from_numpy(inputs)).double()
    # Not so wide that it would cover anything: some units in the last place of the input.
    assert bool((logits.spread <= 64 * 2.0**-24 * (1 + torch.from_numpy(inputs).abs())).all())
    with mpmath.workdps(40):
        for row, sample in enumerate(inputs[:, 0]):
            value, spread = float(logits.values[row, 0]), float(logits.spread[row, 0])
            assert abs(function(mpmath.mpf(float(sample))) - value) <= spread
            assert abs(float(single[row, 0]) - value) <= spread


# Other ways to compute the same functions in float32, some of them by numbers that cancel.
OTHER_MACHINES: dict[str, tuple[nn.Module, Callable[[torch.Tensor], torch.Tensor]]] = {
    "elu": (nn.ELU(0.7), lambda x: torch.where(x > 0, x, (torch.exp(x) - 1) * 0.7)),
    "gelu": (nn.GELU(), lambda x: x * (0.5 * (1 + torch.erf(x * 0.70710678)))),
    "silu": (nn.SiLU(), lambda x: x * (1 / (1 + torch.exp(-x)))),
    "hardsigmoid": (nn.Hardsigmoid(), lambda x: (x * (1 / 6) + 0.5).clamp(0, 1)),
    "hardswish": (nn.Hardswish(), lambda x: x * (x * (1 / 6) + 0.5).clamp(0, 1)),
    "softplus": (nn.Softplus(), lambda x: torch.log(1 + torch.exp(x))),
    "leaky": (nn.LeakyReLU(0.3), lambda x: x.clamp(min=0) + 0.3 * x.clamp(max=0)),
}


@pytest.mark.parametrize("name", OTHER_MACHINES)
def test_other_ways_to_compute_a_function_are_covered(name: str) -> None:
    layer, machine = OTHER_MACHINES[name]
    drawn = np.random.default_rng(3).standard_normal((3000, 1)) * 10.0 ** np.random.default_rng(4).integers(
        -6, 2, (3000, 1)
    )
    inputs = drawn.clip(-19, 19).astype(np.float32)
    assert excess(machine(torch.from_numpy(inputs)), run_with_spread(layer, inputs)) <= 1


def adversarial_sum(size: int) -> tuple[nn.Linear, np.ndarray, np.float32]:
    """1 and then many numbers just above half a unit in its last place: every addition rounds up by almost u."""
    layer = nn.Linear(size, 1, bias=False)
    inputs = np.full((1, size), np.float32(2.0**-24 * (1 + 2.0**-10)), dtype=np.float32)
    inputs[0, 0] = 1.0
    nn.init.ones_(layer.weight)
    return layer, inputs, float32_dot(inputs[0], np.float32(0))


def test_the_bound_is_nearly_attained() -> None:
    layer, inputs, machine = adversarial_sum(300)
    ratio = excess(np.array([[machine]]), run_with_spread(layer, inputs))
    assert 0.9 < ratio <= 1, ratio


def test_a_weaker_unit_roundoff_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, inputs, machine = adversarial_sum(300)
    unit, *rest = rounding._PRECISIONS["float32"]
    monkeypatch.setitem(rounding._PRECISIONS, "float32", (unit / 4096, *rest))  # vector units have many partial sums
    with pytest.raises(PactError, match="not within the proven rounding bound"):
        run_with_spread(layer, inputs)
    monkeypatch.setattr(ToleranceRun, "_refuse_other_arithmetic", lambda *_: None)
    assert excess(np.array([[machine]]), run_with_spread(layer, inputs)) > 1


def test_underflowing_products_are_covered() -> None:
    """Each product rounds to zero: the loss grows with their number, also on machines that flush small numbers."""
    layer = nn.Linear(1000, 1, bias=False)
    nn.init.constant_(layer.weight, 1e-20)
    logits = run_with_spread(layer, np.full((1, 1000), 1e-19, dtype=np.float32))
    assert excess(np.zeros((1, 1)), logits) <= 1


def test_the_spread_grows_with_the_terms_and_stops_where_nothing_is_known() -> None:
    run = Rounding(2.0**-24, 2.0**-126, 2.0**125)
    assert 3 * 2.0**-24 < run.gamma(3) < 3.00001 * 2.0**-24
    assert run.gamma(10**6) > 10**6 * 2.0**-24 * 1.05
    with pytest.raises(PactError, match=r"a sum of 8,388,608 terms cannot be bounded.*use float64"):
        run.gamma(1 << 23)


def test_unknown_precision() -> None:
    with pytest.raises(PactError, match=r"arithmetic: 'bfloat16' is not known; allowed: float32, float64"):
        run_with_spread(nn.Linear(2, 2), np.zeros((1, 2), dtype=np.float32), arithmetic="bfloat16")
