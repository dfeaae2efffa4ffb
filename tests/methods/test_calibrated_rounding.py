"""Rounding on calibration inputs: every kind of layer, any module, no labels; and never worse than plain rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netpact import PactError, Quantize, QuantizeDifference, compress, seal, trace
from netpact.coding.forms import needs_base
from netpact.datasets import ArraySamples, Data
from netpact.methods.calibrated import rounding
from netpact.methods.calibrated.options import Calibrated
from netpact.methods.calibrated.rounding import Rounding, output_change, round_layer
from netpact.methods.grids import UniformGrid
from netpact.methods.layer_moments import layer_moments
from netpact.methods.second_order import output_errors
from netpact.pacts.priors import Base

LAYERS: dict[str, Callable[[], tuple[nn.Module, tuple[int, ...]]]] = {
    "linear": lambda: (nn.Linear(12, 5), (12,)),
    "linear without bias": lambda: (nn.Linear(12, 5, bias=False), (12,)),
    "linear of sequences": lambda: (nn.Linear(6, 4), (7, 6)),
    "conv": lambda: (nn.Conv2d(3, 4, 3, padding=1), (3, 6, 6)),
    "stride": lambda: (nn.Conv2d(3, 4, 3, stride=2, bias=False), (3, 7, 7)),
    "groups": lambda: (nn.Conv2d(4, 6, 3, groups=2, padding="same"), (4, 5, 5)),
    "depthwise": lambda: (nn.Conv2d(3, 3, 3, groups=3, dilation=2), (3, 8, 8)),
    "reflected": lambda: (nn.Conv2d(2, 3, (3, 2), padding=1, padding_mode="reflect"), (2, 6, 6)),
}
each_layer = pytest.mark.parametrize("name", LAYERS)


def made(name: str) -> tuple[Any, Tensor, Tensor]:
    """A layer, inputs that are related to each other, and the same changed a little."""
    torch.manual_seed(0)
    layer, shape = LAYERS[name]()
    x = torch.randn(40, *shape)
    x = (x + x.roll(1, dims=-1) + 0.5 * x.roll(1, dims=1)).relu()
    return layer, x, x + 0.1 * torch.randn_like(x)


@each_layer
def test_moments_say_what_an_error_does_to_the_outputs(name: str) -> None:
    layer, x, _ = made(name)
    moments = layer_moments(layer, x, centred=layer.bias is not None)
    rows = layer.weight.detach().double().numpy().reshape(len(layer.weight), -1)
    other = np.round(4 * rows) / 4
    groups = np.array_split(np.arange(len(rows)), len(moments))
    said = np.concatenate([output_errors(rows[k], other[k], own) for k, own in zip(groups, moments, strict=True)])
    layer = layer.double()
    with torch.no_grad():
        before = layer(x.double())
        layer.weight.copy_(torch.from_numpy(other.reshape(layer.weight.shape)))
        change = (layer(x.double()) - before).movedim(-1 if isinstance(layer, nn.Linear) else 1, 0).flatten(1)
    if layer.bias is not None:
        change = change - change.mean(dim=1, keepdim=True)
    np.testing.assert_allclose(change.square().mean(dim=1).numpy(), said, rtol=1e-6)


@each_layer
def test_moments_beside_are_those_of_both(name: str) -> None:
    layer, x, other = made(name)
    both = layer_moments(layer, other, beside=x)
    for own, same in zip(layer_moments(layer, x, beside=x), layer_moments(layer, x), strict=True):
        np.testing.assert_allclose(own, same)
    # Var(x + y) = Var(x) + Cov(x, y) + Cov(y, x) + Var(y)
    parts = [layer_moments(layer, own) for own in (x + other, x, other)]
    for group, cross in enumerate(both):
        np.testing.assert_allclose(
            parts[0][group], parts[1][group] + cross + cross.T + parts[2][group], rtol=1e-4, atol=1e-5
        )


@each_layer
@pytest.mark.parametrize("bits", [2, 3, 5])
@pytest.mark.parametrize("columns", [4608, 5])
@pytest.mark.parametrize("base", [False, True])
def test_no_layer_is_rounded_worse_than_plainly(
    name: str, bits: int, columns: int, base: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the inputs that it sees, with the weights that make up for what the layers before have changed.

    base  the difference from other weights is rounded; some are equal and stay so
    """
    monkeypatch.setattr(rounding, "_COLUMNS", columns)
    layer, x, now = made(name)
    ground = {}
    if base:
        ground["layer"] = layer.weight.detach().double().numpy() + 0.1 * np.random.default_rng(0).normal(
            size=layer.weight.shape
        )
        ground["layer"][0] = layer.weight[0].detach().double().numpy()
    how = Rounding(Calibrated(bits, None, 0.0, True, 40), {}, 0.0, ground)
    coded = round_layer("layer", layer, x, now, how)
    seen: dict[str, Any] = {}

    def keep(rows: Any, own: Any, columns: Any, parts: Any) -> float:
        seen.update(rows=rows, columns=columns, parts=parts)
        return output_change(rows, own, columns, parts)

    monkeypatch.setattr(rounding, "output_change", keep)
    again = round_layer("layer", layer, x, now, how)
    assert np.array_equal(again.weights(), coded.weights())
    plain = UniformGrid(bits).round(seen["rows"].reshape(coded.shape))
    change, plainly = (output_change(seen["rows"], own, seen["columns"], seen["parts"]) for own in (coded, plain))
    assert change <= plainly
    assert bool(coded.weights()[0].any()) != base
    # Memory is bounded: no matrix of moments has more columns than this.
    assert max(len(group) for part in seen["parts"] for group in part) <= columns


class Small(nn.Module):
    """Batch norm that can be folded, a convolution with groups, and a sum."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.last = nn.Linear(8 * 16, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.first(x)).relu()
        x = nn.functional.avg_pool2d(x + self.second(x).relu(), 2)
        return self.last(input=x.flatten(1))


@pytest.fixture(scope="module")
def trained(digits: Data) -> nn.Module:
    torch.manual_seed(1)
    module = Small()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    for _ in range(6):
        for x, y in digits.train.batches(128):
            optimizer.zero_grad()
            nn.functional.cross_entropy(module(torch.from_numpy(x)), torch.from_numpy(y).long()).backward()
            optimizer.step()
    return module.eval()


@torch.no_grad()
def logits_change(module: nn.Module, other: nn.Module, data: Data) -> float:
    """Squared, as a share of the variance."""
    assert data.test is not None
    x = torch.cat([torch.from_numpy(part) for part, _ in data.test.batches()])
    before, after = (own(x).double() for own in (module, other))
    before, after = (own - own.mean(dim=1, keepdim=True) for own in (before, after))
    return float((after - before).square().sum() / before.square().sum())


@pytest.mark.parametrize("bits", [2, 3, 4])
def test_the_logits_change_less_than_by_plain_rounding_of_a_difference(
    trained: nn.Module, digits: Data, bits: int
) -> None:
    """With a new head that the base lacks, and a layer that is the base's."""
    torch.manual_seed(3)
    tensors = {name: tensor.numpy().copy() for name, tensor in trained.state_dict().items() if "last" not in name}
    tensors["first.weight"] += (0.1 * torch.randn(8, 1, 3, 3)).numpy()
    base = Base("before", tensors, "0" * 64)
    network = trace(trained, digits)
    found, plain = (
        compress(network, QuantizeDifference(base, bits=bits, rounding=how), samples=digits.train)
        for how in (None, "nearest")
    )
    assert {name for name, tensor in found.tensors.items() if needs_base(tensor.form)} == set(tensors)
    assert not found.tensors["second.weight"].symbols.any()
    nearer, plainer = (seal(own).to_module(Small(), base=base) for own in (found, plain))
    assert logits_change(trained, nearer, digits) < 0.5 * logits_change(trained, plainer, digits)
    weight = trained.get_parameter("first.weight").detach()
    off = nearer.get_parameter("first.weight") - weight
    assert float(off.norm()) < 0.5 * float(weight.norm())


def test_a_difference_without_inputs_or_an_even_grid_is_not_rounded_on_inputs(trained: nn.Module, digits: Data) -> None:
    base = Base("before", {"last.bias": np.zeros(10, dtype=np.float32)}, "0" * 64)
    with pytest.raises(PactError, match="there are none"):
        compress(trace(trained, digits), QuantizeDifference(base, rounding="second-order"))
    with pytest.raises(PactError, match="even grid"):
        QuantizeDifference(base, grid="ternary", rounding="second-order")


@pytest.mark.parametrize("bits", [2, 3, 4])
def test_the_logits_change_less_than_by_plain_rounding(trained: nn.Module, digits: Data, bits: int) -> None:
    network = trace(trained, digits)
    found, plain = (
        seal(compress(network, Quantize(bits=bits, rounding=how), samples=digits.train)).to_module(Small())
        for how in (None, "nearest")
    )
    assert logits_change(trained, found, digits) < 0.5 * logits_change(trained, plain, digits)


def test_a_tolerance_is_about_met(trained: nn.Module, digits: Data) -> None:
    network, lengths = trace(trained, digits), []
    for tolerance in (0.03, 0.01, 0.001):
        pact = seal(compress(network, Quantize(tolerance=tolerance), samples=digits.train))
        assert 0.3 * tolerance < logits_change(trained, pact.to_module(Small()), digits) < 3 * tolerance
        lengths.append(len(pact.message))
    assert lengths == sorted(lengths)


@pytest.mark.parametrize("method", [Quantize(bits=3), Quantize(tolerance=0.01), Quantize(bits=4, rate=0.1)], ids=str)
def test_labels_are_not_looked_at_and_batch_norm_is_folded(trained: nn.Module, digits: Data, method: Quantize) -> None:
    network = trace(trained, digits)
    assert isinstance(digits.train, ArraySamples)
    inputs = np.concatenate([x for x, _ in digits.train.batches()])
    blind = ArraySamples(inputs, np.zeros(len(inputs), dtype=np.int64), "blind", 10)
    found, other = (compress(network, method, samples=own) for own in (digits.train, blind))
    assert seal(found).message == seal(other).message
    assert "norm.running_var" not in found.tensors
    assert "first.bias" in found.tensors
    assert torch.equal(trained.first.weight, network.module.first.weight)  # type: ignore[union-attr, arg-type]


def test_a_rate_shortens_the_file(trained: nn.Module, digits: Data) -> None:
    network = trace(trained, digits)
    lengths = [
        len(seal(compress(network, Quantize(bits=4, rate=rate), samples=digits.train)).message)
        for rate in (0.0, 0.1, 0.5)
    ]
    assert lengths[0] > lengths[1] > lengths[2]


class Odd(nn.Module):
    """A layer that runs twice, two that share a weight, and one that never runs."""

    def __init__(self) -> None:
        super().__init__()
        self.twice = nn.Linear(64, 64)
        self.one, self.other = nn.Linear(64, 10), nn.Linear(64, 10)
        self.other.weight = self.one.weight
        self.never = nn.Linear(64, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.twice(self.twice(x.flatten(1)).relu()).relu()
        return self.one(x) + self.other(x) + 0 * self.never.weight.sum()


def test_modules_of_unusual_shape_come_through(digits: Data) -> None:
    torch.manual_seed(2)
    module = Odd().eval()
    network = trace(module, digits)
    pact = seal(compress(network, Quantize(bits=6), samples=digits.train))
    plain = seal(compress(network, Quantize(bits=6)))
    assert logits_change(module, pact.to_module(Odd()), digits) < 1.1 * logits_change(
        module, plain.to_module(Odd()), digits
    )


def test_what_second_order_rounding_cannot_do_is_said(trained: nn.Module, digits: Data) -> None:
    for options in ({"grid": "ternary"}, {"shared": True}, {"grid": "codebook"}):
        with pytest.raises(PactError, match="even grid"):
            Quantize(rounding="second-order", **options)
    with pytest.raises(PactError, match="one of bits and tolerance"):
        Quantize(bits=4, tolerance=0.1)
    with pytest.raises(PactError, match="tolerance"):
        Quantize(tolerance=-0.1)
    with pytest.raises(PactError, match="nearest, second-order"):
        Quantize(rounding="third-order")
    with pytest.raises(PactError, match="calibration inputs"):
        compress(trace(trained, digits), Quantize(tolerance=0.1))
