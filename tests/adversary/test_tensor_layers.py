"""Layers in CP, Tucker and higher-order form, in random networks: does a run leave a deviation bound or a certificate?

Strides, paddings, groups, ranks beyond the full one, shared layers, skips, batch norm, zeros and factors of wild
magnitudes; compressed by every method that factors, in both precisions. Both networks are run in a batch, one by one,
as channels_last and in float64. And a layer whose training diverged: it must not pass for one of fewer components.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netpact import CP, Tucker, certify, compress, deviation_bound, seal, trace, verify
from netpact.core.errors import PactError
from netpact.datasets import as_data
from netpact.layers import CPConv2d, CPLinear, HigherOrderCPConv2d, HigherOrderCPLinear, TuckerConv2d

SHAPE, CLASSES, SAMPLES = (4, 6, 6), 4, 12
METHODS = (CP(rank=3), CP(rank=10**6), CP(share=0.6), CP(threshold=0.3), CP(error=0.4, bits=12), Tucker(error=0.5))
Method = CP | Tucker


class Shared(nn.Module):
    """One layer at two places."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.one = self.two = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.two(torch.relu(self.one(x))) + x


def draw_convolution(drawn: random.Random, inputs: int, outputs: int) -> nn.Module:
    kernel: Any = drawn.choice([1, 3, (1, 3), (3, 2)])
    settings: dict[str, Any] = {
        "stride": drawn.choice([1, 2]),
        "padding": drawn.choice([0, 1]),
        "padding_mode": drawn.choice(["zeros", "circular", "reflect"]),
        "bias": drawn.random() < 0.7,
    }
    made: list[Callable[[], nn.Module]] = [
        lambda: nn.Conv2d(inputs, outputs, kernel, groups=drawn.choice([1, 2]), **settings),
        lambda: CPConv2d(inputs, outputs, kernel, drawn.choice([1, 40]), **settings),
        lambda: TuckerConv2d(inputs, outputs, kernel, (drawn.choice([1, 9]), 2), **settings),
        lambda: HigherOrderCPConv2d((2, inputs // 2), (2, outputs // 2), kernel, 3, **settings),
    ]
    return drawn.choice(made)()


def draw_network(drawn: random.Random) -> nn.Module:
    torch.manual_seed(drawn.randrange(1000))
    again = drawn.choice([CPConv2d(6, 6, 3, 3, padding=1), TuckerConv2d(6, 6, 3, (2, 2), padding=1)])
    last = drawn.choice([nn.Linear(24, CLASSES), CPLinear(24, CLASSES, 3), HigherOrderCPLinear((4, 6), (2, 2), 3)])
    made = nn.Sequential(
        draw_convolution(drawn, 4, 6),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        Shared(again),
        draw_convolution(drawn, 6, 6),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        last,
    )
    weights = list(made.parameters())
    with torch.no_grad():
        drawn.choice(weights).mul_(drawn.choice([0.0, 1e-12, 1.0, 1e6]))
    return made.eval()


def all_runs(module: nn.Module, x: Tensor) -> list[Tensor]:
    with torch.no_grad():
        return [
            module(x).double(),
            torch.cat([module(row[None]) for row in x]).double(),
            module(x.to(memory_format=torch.channels_last)).double(),
            copy.deepcopy(module).double()(x.double()),
        ]


@pytest.mark.parametrize("seed", range(10))
def test_no_run_leaves_what_was_proven(seed: int) -> None:
    drawn = random.Random(seed)
    module, method = draw_network(drawn), METHODS[seed % len(METHODS)]
    arithmetic = ("float32", "float64")[seed % 2]
    x = np.random.default_rng(seed).standard_normal((SAMPLES, *SHAPE)).astype(np.float32)
    inputs = torch.from_numpy(x)
    labels = module(inputs).argmax(dim=1).numpy()
    data = as_data((x, labels), classes=CLASSES)

    def make() -> nn.Module:
        return copy.deepcopy(module)

    pact = seal(compress(trace(module, data), method, arithmetic=arithmetic))
    found = pact.to_module(make())
    bound = deviation_bound(module, pact, data)
    pact = certify(pact, data, model=make)
    assert pact.certificate is not None
    for other in all_runs(found, inputs.to(getattr(torch, arithmetic))):
        for one in all_runs(module, inputs):
            assert (torch.linalg.vector_norm(one - other, dim=1).numpy() <= bound.bounds).all()
        assert int((other.argmax(dim=1).numpy() != labels).sum()) <= pact.certificate.errors
    assert verify(pact, data, model=make).agreed


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    "layer", [CPConv2d(2, 4, 3, 3), CPLinear(6, 4, 3), HigherOrderCPConv2d((2, 2), (2, 3), 3, 3)], ids=type
)
def test_a_diverged_layer_does_not_pass_for_one_of_fewer_components(layer: Any, value: float) -> None:
    """NaN is not above 0: the component was left out as if it were 0, and infinity divided by itself."""
    broken = copy.deepcopy(layer)
    with torch.no_grad():
        next(broken.parameters()).view(-1)[0] = value
    for look in (broken.spectrum, broken.components, broken.norm_bound, broken.normalize_, lambda: broken.truncate(2)):
        with pytest.raises(PactError, match="NaN or infinity"):
            look()
