"""WholeNumber: what every method promises, and what this one does with ranges, wires and arithmetic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from methods.conformance import MethodConformance, compress_once
from network.whole_nets import Drawn, samples
from torch import Tensor, nn

import netpact
from netpact.coding.format import own_slots
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.layers.rewrites import Fold, ToWhole
from netpact.layers.whole.layers import WholeLayer
from netpact.methods import MagnitudePrune, Method, Quantize, WholeNumber, compress
from netpact.methods.second_order import round_nearest, round_second_order
from netpact.network import Network, count_errors, trace


class TestWholeNumber(MethodConformance):
    sizes: ClassVar[list[Method]] = [WholeNumber(bits=bits) for bits in (2, 4, 8)]
    bad: ClassVar[list[dict[str, Any]]] = [
        {"bits": 1},
        {"bits": 9},
        {"bits": 4.0},
        {"bits": True},
        {"activations": 1},
        {"activations": 9},
        {"calibration": 0},
        {"calibration": "all"},
        {"rounding": "up"},
    ]

    def test_every_tensor_is_coded(self, network: Network, digits: Data) -> None:
        """Batch norm is folded: its buffers are no longer there."""
        for method in self.sizes:
            compressed = compress_once(network, method, digits)
            assert [(name, tensor.shape) for name, tensor in compressed.tensors.items()] == [
                (slot.name, slot.shape) for slot in own_slots(network.module, compressed.rewrites)
            ]
            kinds = {type(step.rewrite) for step in compressed.rewrites}
            assert ToWhole in kinds
            assert kinds <= {ToWhole, Fold}


def test_whole_is_an_arithmetic_that_methods_have_or_stand_for(linear: Network, digits: Data) -> None:
    own = compress(linear, WholeNumber(bits=5), samples=digits)
    assert own.arithmetic == "whole"
    assert compress(linear, WholeNumber(bits=5), samples=digits, arithmetic="whole").arithmetic == "whole"
    meant = compress(linear, Quantize(bits=5), samples=digits, arithmetic="whole")
    assert netpact.seal(meant).message == netpact.seal(own).message
    assert compress(linear, Quantize(bits=5), samples=digits).arithmetic == "float32"
    with pytest.raises(PactError, match="makes integer networks, not networks in float64"):
        compress(linear, WholeNumber(), samples=digits, arithmetic="float64")
    with pytest.raises(PactError, match="does not make integer networks"):
        compress(linear, MagnitudePrune(keep=0.5), samples=digits, arithmetic="whole")
    with pytest.raises(PactError, match="an even grid"):
        compress(linear, Quantize(grid="ternary"), samples=digits, arithmetic="whole")
    with pytest.raises(PactError, match="calibration inputs"):
        compress(linear, WholeNumber())


class Added(nn.Module):
    """The input goes past a layer, and is added behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Conv2d(2, 2, 3, padding=1), nn.Linear(2 * 81, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head((self.body(x) + x).flatten(1))


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Conv2d(2, 2, 3, padding=1), nn.Linear(2 * 81, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.sigmoid(self.body(x)).flatten(1))


@pytest.mark.parametrize(
    ("module", "what"), [(Added(), "the network's input is added to"), (Gated(), "operation sigmoid is not exact")]
)
def test_what_cannot_be_whole_is_refused_by_name(module: nn.Module, what: str) -> None:
    data = samples()
    with pytest.raises(PactError, match=what):
        compress(trace(module, data), WholeNumber(), samples=data)


def test_inputs_of_any_range_are_taken() -> None:
    """Not only pixels: standardised numbers, and numbers in thousands."""
    for scale, shift in ((1.0, -0.5), (4000.0, -1000.0), (1e-3, 0.0)):
        x = (scale * np.random.default_rng(0).random((40, 6), dtype=np.float32) + shift).astype(np.float32)
        data = ArraySamples(x, np.arange(40) % 3, "drawn", 3)
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
        found = netpact.seal(compress(trace(module, data), WholeNumber(), samples=data)).to_module(module)
        with torch.no_grad():
            wanted, whole = module(torch.from_numpy(x)), found(torch.from_numpy(x)).double()
        ratio = float((whole * wanted).sum() / (wanted * wanted).sum())
        off = (whole / ratio - wanted).abs().max() / wanted.abs().max()
        assert float(off) < 0.03, (scale, shift, float(off))


def test_a_layer_that_runs_twice_has_one_grid() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = nn.Conv2d(2, 2, 3, padding=1), nn.Linear(2 * 81, 4)
            self.stem = nn.Conv2d(2, 2, 1)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(torch.relu(self.body(torch.relu(self.body(self.stem(x))))).flatten(1))

    data, module = samples(), Twice().eval()
    compressed = compress(trace(module, data), WholeNumber(), samples=data)
    found = netpact.seal(compressed).to_module(module)
    assert count_errors(found, data, arithmetic="whole").near_ties == 0


def test_outputs_are_clamped_where_sums_of_them_could_be_too_large() -> None:
    class Long(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.body, self.head = nn.Linear(6, 64), nn.Linear(64, 64), nn.Linear(64, 3)

        def forward(self, x: Tensor) -> Tensor:
            x = self.stem(x)
            y = self.body(x)
            for _ in range(500):
                x = (x + y) - y
            return self.head(x)

    torch.manual_seed(1)
    x = np.random.default_rng(0).random((20, 6), dtype=np.float32)
    data, module = ArraySamples(x, np.arange(20) % 3, "drawn", 3), Long().eval()
    compressed = compress(trace(module, data), WholeNumber(), samples=data)
    grids = [step.rewrite for step in compressed.rewrites if isinstance(step.rewrite, ToWhole)]
    assert any(grid.reach for grid in grids)
    found = netpact.seal(compressed).to_module(module)
    assert count_errors(found, data, arithmetic="whole").samples == 20


def test_each_layer_keeps_to_its_bits() -> None:
    compressed = compress(trace(Drawn(4), samples()), WholeNumber(bits=3, activations=6), samples=samples())
    module = netpact.seal(compressed).to_module(Drawn(4))
    for name, layer in module.named_modules():
        if isinstance(layer, WholeLayer) and layer.weight.dim() > 1:
            assert float(layer.weight.abs().max()) <= 3, name
            low, high = (
                round(end * layer.grid.gain / 2**layer.grid.divide) for end in (layer.grid.low, layer.grid.high)
            )
            assert high - low <= 64, name  # the step is met within 3 %


def test_second_order_rounding_moves_the_outputs_less() -> None:
    """On correlated inputs, against rounding to the nearest; and at no correlation it is the nearest."""
    random = np.random.default_rng(0)
    mixing = random.normal(size=(12, 12))
    inputs = random.normal(size=(400, 12)) @ mixing
    weight, steps = random.normal(size=(5, 12)), np.full(5, 0.4)
    moments = inputs.T @ inputs / len(inputs)
    nearest, second = round_nearest(weight, steps, most=7), round_second_order(weight, steps, moments, most=7)

    def off(symbols: Any) -> float:
        return float(np.square(inputs @ (weight - symbols * steps[:, None]).T).mean())

    assert off(second) < 0.6 * off(nearest)
    assert np.array_equal(round_second_order(weight, steps, np.eye(12), most=7), nearest)
    assert np.abs(round_second_order(10 * weight, steps, moments, most=7)).max() == 7


def test_a_message_says_whole_if_and_only_if_its_layers_are(linear: Network, digits: Data) -> None:
    whole = compress(linear, WholeNumber(), samples=digits)
    with pytest.raises(PactError, match="the arithmetic is float32, and some layers are integer layers"):
        replace(whole, arithmetic="float32")
    with pytest.raises(PactError, match="the arithmetic is whole, and no layers are integer layers"):
        replace(compress(linear, Quantize()), arithmetic="whole")
