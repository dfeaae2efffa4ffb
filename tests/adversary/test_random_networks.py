"""Random networks of wild magnitudes: does any run on this machine leave the proven bound?

Layers, norms, activations, pools and numbers of the program in random order, with weights, inputs and statistics from
10^-38 to 10^30: among them sums that cancel, overflow and underflow. Each network is run in float32 one by one, in a
batch, and on a processor that flushes subnormal numbers to zero. All of these must lie within the spread, wherever it
is finite; and it must be finite for most networks, or it would say nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from netpact.core.errors import PactError
from netpact.network import ToleranceRun

NETWORKS, ROWS, SIDE = 120, 6, 5
WITHOUT_WEIGHTS: dict[str, Callable[[Tensor, float], Tensor]] = {
    "relu": lambda x, _: functional.relu(x),
    "gelu": lambda x, _: functional.gelu(x),
    "tanh": lambda x, _: torch.tanh(x),
    "elu": lambda x, _: functional.elu(x),
    "silu": lambda x, _: functional.silu(x),
    "softplus": lambda x, _: functional.softplus(x),
    "hardswish": lambda x, _: functional.hardswish(x),
    "times": lambda x, number: x * number,
    "over": lambda x, number: x / number,
    "plus": lambda x, number: x + number,
    "mirrored": lambda x, _: x + x.flip(1),
    "half": lambda x, _: x - 0.5 * x,
}
OF_IMAGES: dict[str, Callable[[Tensor, float], Tensor]] = {
    "average": lambda x, _: functional.avg_pool2d(x, 2, 1),
    "largest": lambda x, _: functional.max_pool2d(x, 2, 1),
}


def magnitude(drawn: random.Random) -> float:
    wild = drawn.random() < 0.3
    return float(10.0 ** (drawn.uniform(-38, 30) if wild else drawn.uniform(-3, 3)))


class Drawn(nn.Module):
    def __init__(self, drawn: random.Random) -> None:
        super().__init__()
        self.is_image = drawn.random() < 0.5
        self.width = width = drawn.randint(1, 4)
        self.layers, self.steps = nn.ModuleList(), list[tuple[str, float]]()
        table = {**WITHOUT_WEIGHTS, **(OF_IMAGES if self.is_image else {})}
        for _ in range(drawn.randint(1, 5)):
            kind = drawn.choice(["weights", "weights", "norm", *table])
            layer: nn.Module = nn.Identity()
            if kind == "weights":
                layer, width = self._weights(drawn, width)
            elif kind == "norm":
                layer = self._norm(drawn, width)
            self.layers.append(layer)
            self.steps.append((kind, magnitude(drawn) if drawn.random() < 0.5 else drawn.uniform(-3, 3)))
        self.head = nn.Linear(width, 3)
        self._scale(drawn, self.head)
        self.requires_grad_(False).eval()

    def _weights(self, drawn: random.Random, width: int) -> tuple[nn.Module, int]:
        outputs, bias = drawn.randint(1, 5), drawn.random() < 0.7
        conv = nn.Conv2d(width, outputs, 3, padding=1, bias=bias)
        layer = conv if self.is_image else nn.Linear(width, outputs, bias=bias)
        self._scale(drawn, layer)
        return layer, outputs

    def _norm(self, drawn: random.Random, width: int) -> nn.Module:
        norm = nn.BatchNorm2d(width) if self.is_image else nn.BatchNorm1d(width)
        assert norm.running_mean is not None
        assert norm.running_var is not None
        nn.init.normal_(norm.running_mean)
        norm.running_mean.mul_(magnitude(drawn))
        norm.running_var.uniform_(0, 1).mul_(min(1e20, magnitude(drawn)))
        nn.init.normal_(norm.weight)
        self._scale(drawn, norm)
        return norm

    @torch.no_grad()
    def _scale(self, drawn: random.Random, layer: nn.Module) -> None:
        for parameter in layer.parameters():
            parameter.mul_(magnitude(drawn))

    def forward(self, x: Tensor) -> Tensor:
        for layer, (kind, number) in zip(self.layers, self.steps, strict=True):
            step = {**WITHOUT_WEIGHTS, **OF_IMAGES}.get(kind)
            x = layer(x) if step is None else step(x, number)
        logits: Tensor = self.head(x.mean(dim=(2, 3)) if self.is_image else x)
        return logits

    def inputs(self, drawn: random.Random) -> Tensor:
        shape = (self.width, SIDE, SIDE) if self.is_image else (self.width,)
        return (torch.randn(ROWS, *shape) * magnitude(drawn)).clamp(-3e38, 3e38)


def runs(network: nn.Module, x: Tensor) -> Iterator[Tensor]:
    for flushes in (False, True):
        torch.set_flush_denormal(flushes)
        try:
            yield torch.cat([network(part) for part in x.split(1)])
            yield network(x.clone())
        finally:
            torch.set_flush_denormal(False)


@pytest.mark.parametrize("seed", range(4))
def test_no_run_leaves_the_bound(seed: int) -> None:
    drawn = random.Random(seed)
    torch.manual_seed(seed)
    finite, refused = 0, list[str]()
    for index in range(NETWORKS):
        network = Drawn(drawn)
        x = network.inputs(drawn)
        try:
            logits = ToleranceRun(network, "float32")(x.numpy())
        except PactError as error:
            refused.append(f"{index}, {network.steps}: {error.what}")
            continue
        known = torch.isfinite(logits.spread)
        finite += bool(known.all())
        for found in runs(network, x):
            within = (found.double() - logits.values).abs() <= logits.spread
            assert bool((within | ~known).all()), (seed, index, network.steps)
    assert not [reason for reason in refused if "proven rounding bound" in reason]
    assert len(refused) < NETWORKS / 5
    assert finite > NETWORKS * 0.7
