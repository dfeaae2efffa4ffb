"""Parameters that are used outside of layers: their own difference is part of the bound, and tokens are the same."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netpact.deviations import deviation_bound
from netpact.deviations.deviation import Walk, make_deviation
from netpact.network.rounding.tolerance import make_spread, rounding

X = np.random.default_rng(0).normal(size=(12, 6)).astype(np.float32)
TOKENS = np.random.default_rng(1).integers(0, 5, size=(12, 6))
Y = np.arange(12) % 3


class Uses(nn.Module):
    def __init__(self, way: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__()
        self.way = way
        self.shift, self.token = nn.Parameter(torch.randn(1, 6)), nn.Parameter(torch.randn(1, 1, 6))
        self.layer, self.group = nn.LayerNorm(6), nn.GroupNorm(2, 6)
        self.instance, self.rms = nn.InstanceNorm1d(3, affine=True), nn.RMSNorm(6, eps=1e-3)
        self.table, self.head = nn.Embedding(5, 6), nn.Linear(6, 3)
        for part in (self.layer, self.group, self.instance):
            nn.init.normal_(part.bias)
            nn.init.constant_(part.weight, 3.0)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.head(self.way(self, x))
        return found


def with_token(module: Any, x: Tensor) -> Tensor:
    rows = torch.cat([module.token.expand(x.shape[0], -1, -1), x[:, None]], dim=1)
    return rows.mean(1)


WAYS: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "add": lambda m, x: x + m.shift,
    "sub": lambda m, x: m.shift - x,
    "mul": lambda m, x: m.shift * x,
    "mul, several places": lambda m, x: (x.view(-1, 6, 1) * m.shift.view(1, 1, 6)).mean(1),
    "div": lambda m, x: m.shift / (x * x + 1),
    "cat": with_token,
    "layer_norm": lambda m, x: m.layer(x),
    "a norm behind": lambda m, x: m.layer(x + m.shift),
    "group_norm": lambda m, x: m.group(x[:, :, None])[:, :, 0],
    "instance_norm": lambda m, x: m.instance(x.view(-1, 3, 2)).flatten(1),
    "rms_norm": lambda m, x: m.rms(x),
}


def pair(way: Callable[[Any, Tensor], Tensor], *, only: str = "") -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(0)
    module = Uses(way)
    other = copy.deepcopy(module)
    with torch.no_grad():
        for name, parameter in other.named_parameters():
            if only in name:
                parameter.add_(0.01 * torch.sign(parameter))
    return module, other


@pytest.mark.parametrize("name", WAYS)
def test_differences_of_parameters_are_covered(name: str) -> None:
    deviation = deviation_bound(*pair(WAYS[name]), (X, Y))
    assert bool((deviation.measured <= deviation.bounds).all())
    assert float(deviation.measured.min()) > 0
    assert deviation.looseness < 40


@pytest.mark.parametrize(
    ("name", "only"),
    [("add", "shift"), ("mul", "shift"), ("cat", "token"), ("layer_norm", "layer"), ("a norm behind", "shift")],
)
def test_a_parameter_s_own_difference_is_needed(name: str, only: str) -> None:
    """Nothing else differs: without it the bound would be that of rounding."""
    deviation = deviation_bound(*pair(WAYS[name], only=only), (X, Y))
    assert float(deviation.measured.min()) > 1e-4
    assert deviation.looseness < 8


@pytest.mark.parametrize("also", [False, True])
def test_tokens_and_tables(also: bool) -> None:
    """Rows that tokens pick, and rows at fixed places."""
    module, other = pair(lambda m, tokens: (m.table(tokens) + (m.table(torch.arange(5))[0] if also else 0)).sum(1))
    deviation = deviation_bound(module, other, (TOKENS, Y))
    assert bool((deviation.measured <= deviation.bounds).all())
    assert float(deviation.measured.min()) > 0
    assert deviation.looseness < 8


def test_numbers_that_differ_make_no_integers() -> None:
    whole = torch.ones(2, 3, dtype=torch.float64)
    with rounding("float32", collect=True) as own:
        walk = Walk(own, own)
        make_deviation(make_spread(whole, 0 * whole), torch.ones(2, dtype=torch.float64), walk).long()
    assert walk.problems() == ["long of numbers that differ"]
