"""Layers in CP and Tucker form compute what the one dense layer does that they stand for."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from netpact import load_data, trace
from netpact.layers import CPConv2d, CPLinear, TuckerConv2d

IMAGE = (3, 6, 9, 8)
MADE: dict[str, Any] = {
    "conv": (lambda: CPConv2d(6, 8, 3, 5, padding=1), IMAGE),
    "stride": (lambda: CPConv2d(6, 8, (3, 2), 5, stride=2, dilation=2, bias=False), IMAGE),
    "reflect": (lambda: CPConv2d(6, 4, 3, 20, padding=1, padding_mode="reflect"), IMAGE),
    "linear": (lambda: CPLinear(12, 10, 4), (3, 12)),
    "sides": (lambda: CPLinear(12, 10, 4, in_shape=(2, 6), out_shape=(10, 1), bias=False), (3, 12)),
    "sequence": (lambda: CPLinear(12, 7, 4), (3, 5, 2, 12)),
    "tucker": (lambda: TuckerConv2d(6, 8, 3, (4, 3), padding=1, stride=2), IMAGE),
}


@pytest.mark.parametrize("name", MADE)
def test_composes_to_one_dense_layer(name: str) -> None:
    make, shape = MADE[name]
    torch.manual_seed(0)
    layer, x = make().double(), torch.randn(shape, dtype=torch.float64)
    torch.testing.assert_close(layer(x), layer.to_dense()(x), rtol=1e-12, atol=1e-12)


def test_of_full_rank_is_the_dense_layer() -> None:
    torch.manual_seed(0)
    conv, linear = nn.Conv2d(6, 8, 3, padding=1).double(), nn.Linear(12, 10).double()
    x, y = torch.randn(IMAGE, dtype=torch.float64), torch.randn(3, 12, dtype=torch.float64)
    torch.testing.assert_close(CPConv2d.from_dense(conv, 48)(x), conv(x), rtol=0, atol=1e-4)
    torch.testing.assert_close(TuckerConv2d.from_dense(conv, (8, 6))(x), conv(x))
    torch.testing.assert_close(CPLinear.from_dense(linear, 30)(y), linear(y), rtol=0, atol=1e-4)


def test_networks_of_them_are_traced() -> None:
    layers = (CPConv2d(1, 4, 3, 3), nn.ReLU(), nn.Flatten(), CPLinear(4 * 36, 10, 3))
    network = trace(nn.Sequential(*layers), load_data("digits"))
    assert [layer.kind for layer in network.layers] == ["conv2d"] * 7 + ["shift"]
