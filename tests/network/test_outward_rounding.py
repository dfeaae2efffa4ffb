"""Every constant that keeps a rounding bound outward is needed: a machine that exists, or could, uses it up.

Each test has a case in which the bound is nearly attained, so that a smaller constant lets a float32 run out of it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from network.rounding_nets import excess, run_with_spread
from torch import Tensor, nn
from torch.nn import functional

from netpact.network.rounding import sum_rules
from netpact.network.rounding.tolerance import Rounding, make_spread, rounding, spread_of, value_of

_UNIT32, _UNIT64 = 2.0**-24, 2.0**-53
GENERATOR = np.random.default_rng(0)


def followed(call: Callable[[Tensor], Tensor], x: Tensor, arithmetic: str = "float32") -> tuple[Tensor, Tensor]:
    with rounding(arithmetic):
        result = call(make_spread(x.double(), torch.zeros_like(x.double())))
    return value_of(result), spread_of(result)


def test_whole_numbers_are_exact_up_to_two_to_the_24_and_no_further() -> None:
    """2^24 + 1 + 1 is 2^24 from left to right, and 2^24 + 2 in another order."""
    layer = nn.Linear(3, 1, bias=False)
    nn.init.ones_(layer.weight)
    orders = [np.float32(np.float32(2**24 + 0.0) + np.float32(1)) + np.float32(1), np.float32(2**24 + 2)]
    assert orders[0] != orders[1]
    beyond = run_with_spread(layer, np.array([[2**24, 1, 1]], dtype=np.float32))
    assert max(excess(np.array([[order]]), beyond) for order in orders) <= 1
    within = run_with_spread(layer, np.array([[2**24 - 2, 1, 1]], dtype=np.float32))
    assert float(within.spread) == 0


def one_product_and_a_bias(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A machine that rounds the product, then the sum."""
    return (x * w).astype(np.float32) + b


@pytest.mark.parametrize("conv", [False, True])
def test_a_bias_is_one_rounding_more(conv: bool) -> None:
    """x w + b: the product is rounded, and the sum. With gamma of one rounding a third of these are outside."""
    x, w = (GENERATOR.uniform(1, 2, 4000).astype(np.float32) for _ in range(2))
    b = GENERATOR.uniform(0, 2.0**-6, 4000).astype(np.float32)
    machine = torch.from_numpy(one_product_and_a_bias(x, w, b)).double()
    weight, bias = torch.from_numpy(w).double(), torch.from_numpy(b).double()

    def call(inputs: Tensor) -> Tensor:
        if conv:
            kernel = weight.view(-1, 1, 1, 1)
            return functional.conv2d(inputs.view(1, -1, 1, 1), kernel, bias, groups=len(x)).flatten()
        return torch.stack(
            [
                functional.linear(inputs[place : place + 1], weight[place].view(1, 1), bias[place].view(1)).flatten()[0]
                for place in range(500)
            ]
        )

    value, spread = followed(call, torch.from_numpy(x))
    ratio = (machine[: len(value)] - value).abs() / spread
    assert 0.75 < float(ratio.max()) <= 1, float(ratio.max())


def norm_by_steps(x: Tensor, mean: Tensor, variance: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Batch norm in float32, every step rounded by itself."""
    inverse = 1 / torch.sqrt(variance + np.float32(1e-3))
    return (x - mean) * inverse * weight + bias


def test_batch_norm_takes_many_roundings(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 200_000
    random = torch.Generator().manual_seed(0)
    mean, variance, weight = (0.5 + torch.rand(count, generator=random) for _ in range(3))
    x, bias = 8 + torch.rand(1, count, generator=random), 1e-3 * torch.rand(count, generator=random)
    machine = norm_by_steps(x, mean, variance, weight, bias).double()

    def call(inputs: Tensor) -> Tensor:
        stats = (mean.double(), variance.double(), weight.double(), bias.double())
        return functional.batch_norm(inputs, *stats, False, 0.0, 1e-3)

    def worst() -> float:
        value, spread = followed(call, x)
        return float(((machine - value).abs() / spread).max())

    assert 0.3 < worst() <= 1
    monkeypatch.setattr(sum_rules, "NORM_ROUNDINGS", 3)
    assert worst() > 1


def test_gamma_counts_our_own_run_as_well() -> None:
    """Values are computed in float64: where the network is run in float64 too, both runs are off, to either side."""
    for unit in (_UNIT32, _UNIT64):
        total = 3 * (unit + _UNIT64)
        assert total < Rounding(unit, 0.0, 1.0).gamma(3) < total * 1.00001


def test_spreads_are_rounded_outward() -> None:
    """gamma is a little larger than n u / (1 - n u): what rounds the spread itself down is less than that."""
    for terms in (1, 7, 1000):
        for unit in (_UNIT32, _UNIT64):
            total = terms * (unit + _UNIT64)
            assert Rounding(unit, 0.0, 1.0).gamma(terms) >= total / (1 - total) * (1 + 1e-10)


SMALLEST = 2.0**-126


@pytest.mark.parametrize(
    ("call", "lost"),
    [
        (lambda x: x + SMALLEST / 2, SMALLEST / 2),
        (lambda x: x * 2.0**-60 * 2.0**-60 * 2.0**-7, SMALLEST / 2),
        (lambda x: functional.avg_pool1d(x[:, None] * 2.0**-60 * 2.0**-60 * 2.0**-5, 4).squeeze(1), SMALLEST),
        (lambda x: functional.linear(x * 2.0**-60, torch.full((1, 4), 2.0**-67, dtype=x.dtype)), 4 * SMALLEST / 2),
    ],
)
def test_results_that_may_be_flushed_are_covered(call: Callable[[Tensor], Tensor], lost: float) -> None:
    _, spread = followed(call, torch.ones(1, 4))
    assert float(spread.min()) >= lost
