"""Overflow: activations that float64 holds and float32 does not.

The adversary scales two layers up by 2^66 each and the last one down again. In float64, where errors are counted, the
network is a good classifier; a float32 run meets infinity in the second layer and answers NaN. Also tried: partial sums
that overflow on the way to a small result, averages, sums, numbers in the program, batch norm's own steps, one sample
among many, deviation bounds and boxes between two such networks, and the network before compression.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from netpact.coding import ShortFloat
from netpact.coding.format import Compressed, seal
from netpact.coding.forms import CodedTensor, Uniform, Zero
from netpact.datasets import ArraySamples, Data
from netpact.deviations import promised_error
from netpact.models import parameter_shapes, parse_model
from netpact.network import ToleranceRun, count_errors
from netpact.pacts.certification import certify
from netpact.pacts.originals import certify_box, count_disagreements
from netpact.pacts.verification import verify
from netpact.pacts.verification.recount import count_anew

ROWS, CLASSES = 60, 3


def one_hot_data(rows: int = ROWS, scale: float = 1.0) -> Data:
    """Class c has its largest entry at place c: the identity classifies it."""
    labels = np.arange(rows) % CLASSES
    x = 0.25 * np.random.default_rng(0).random((rows, CLASSES))
    x[np.arange(rows), labels] += 1
    return Data("one-hot", CLASSES, ArraySamples((x * scale).astype(np.float32), labels, "one-hot", CLASSES))


def scaled_file(up: int, down: int) -> Compressed:
    """mlp:3-3 of three multiples of the identity, 2^up twice and then 2^down."""
    architecture = parse_model(f"mlp:{CLASSES}-{CLASSES}", input_shape=(CLASSES,), classes=CLASSES)
    tensors, exponents = {}, iter((up, up, down))
    for name, shape in parameter_shapes(architecture).items():
        if len(shape) == 1:
            tensors[name] = CodedTensor(Zero(), np.zeros(0, dtype=np.int64), shape)
            continue
        exponent = next(exponents)
        symbols = (np.eye(CLASSES, dtype=np.int64) << max(0, exponent - 60)).ravel()
        tensors[name] = CodedTensor(Uniform(ShortFloat(min(exponent, 60), 0)), symbols, shape)
    return Compressed(architecture, tensors)


def test_a_file_that_overflows_in_float32_is_all_errors() -> None:
    data, pact = one_hot_data(), seal(scaled_file(66, -64))
    found = pact.to_module()(torch.from_numpy(next(iter(data.train.batches(ROWS)))[0]))
    assert not bool(torch.isfinite(found).all()), "the attack works: a float32 run is not finite"
    certified = certify(pact, data, most_near_ties=1)
    assert certified.certificate is not None
    assert certified.certificate.errors == ROWS
    assert certified.certificate.bound == 1.0
    assert verify(certified, data).counted == ROWS


def test_the_same_network_within_the_range_is_right() -> None:
    data = one_hot_data()
    counted = count_errors(seal(scaled_file(20, -40)).to_module(), data.train, arithmetic="float32")
    assert (counted.errors, counted.overflows) == (0, 0)
    as_float64 = count_errors(seal(scaled_file(66, -64)).to_module(), data.train, arithmetic="float64")
    assert as_float64.errors == 0, "float64 has room for it"


def test_one_sample_that_overflows_is_one_error_in_every_batch() -> None:
    """The others of its batch are not touched, so counts do not depend on how samples are put together."""
    x = np.array(one_hot_data().train.inputs)  # type: ignore[attr-defined]
    x[17] *= 2.0**100
    samples = ArraySamples(x, np.arange(ROWS) % CLASSES, "one large", CLASSES)
    module = seal(scaled_file(20, -40)).to_module()
    counted = count_errors(module, samples, arithmetic="float32")
    assert (counted.errors, counted.near_ties, counted.overflows) == (1, 1, 1)
    assert count_anew(module, samples, "float32")[0] == 1


class Runs(nn.Module):
    """A linear layer that hands its input on, around an operation of the adversary's choice."""

    def __init__(self, way: object) -> None:
        super().__init__()
        self.way = way
        self.fc = nn.Linear(CLASSES, CLASSES, bias=False)
        nn.init.eye_(self.fc.weight)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.way(x))  # type: ignore[operator]


UP, BIG = 2.0**60, 2.0**126


def twice(x: Tensor) -> Tensor:
    return x * UP * UP  # 2^120


WAYS = {
    "partial sums that cancel": lambda x: torch.cat([x, twice(x) * 16, twice(x) * 16], 1).sum(1, keepdim=True) + x,
    "a number that is no float32 number": lambda x: (x + 2.0**130) - 2.0**130 + x,
    "a mean": lambda x: functional.avg_pool1d((twice(x) * 16)[:, None], 3, 1, 1).squeeze(1) / UP / UP / 16 + x,
    "a sum over an axis": lambda x: (twice(x) * 16).sum(1, keepdim=True) / UP / UP / 16 + x,
    "a product and a quotient": lambda x: twice(x) * 256 / 256 / UP / UP,
    "hardswish": lambda x: functional.hardswish(twice(x) * 32) / UP / UP / 32,
    "a difference of large numbers": lambda x: (twice(x) * 64 + twice(x) * 64) / UP / UP / 128,
}


@pytest.mark.parametrize("name", WAYS)
def test_operations_that_may_overflow_on_their_way(name: str) -> None:
    data = one_hot_data()
    counted = count_errors(Runs(WAYS[name]), data.train, arithmetic="float32")
    assert counted.errors == ROWS


def test_partial_sums_of_a_layer_in_every_order() -> None:
    """2^127 - 2^127 + x: from left to right the sum is finite, in another order 2^127 + 2^127 is infinite."""
    layer = nn.Linear(6, 2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[BIG, BIG, -BIG, -BIG, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]))
    x = np.tile(np.array([[1, 1, 1, 1, 3, 1]], dtype=np.float32), (4, 1))
    x[2:, :4] = 0  # these two are harmless
    run = ToleranceRun(layer, "float32")(x)
    assert bool(torch.isinf(run.spread[:2, 0]).all())
    assert bool(torch.isfinite(run.spread[2:]).all())


def test_batch_norm_overflows_before_its_weight_makes_it_small() -> None:
    """(x - mean) / sqrt(var) is up to 2^49 |x|, whatever the weight behind it is."""
    norm = nn.BatchNorm1d(CLASSES, eps=0.0).eval()
    nn.init.constant_(norm.running_var, 2.0**-98)  # type: ignore[arg-type]
    nn.init.constant_(norm.weight, 2.0**-120)
    data = one_hot_data(scale=2.0**90)
    assert count_errors(norm, data.train, arithmetic="float32").errors == ROWS
    assert count_errors(norm, one_hot_data(scale=2.0**60).train, arithmetic="float32").errors == 0


def test_a_large_shift_of_batch_norm_overflows_the_sum() -> None:
    """Each of the two numbers is a float32 number, their sum is not."""
    norm = nn.BatchNorm1d(CLASSES, eps=1.0).eval()
    nn.init.constant_(norm.bias, 2.0**127.5)
    run = ToleranceRun(norm, "float32")(np.full((2, CLASSES), 2.0**100, dtype=np.float32))
    assert bool(torch.isinf(run.spread).all())


class Ends(nn.Module):
    """The last operation of the network is the one that overflows: nothing after it would notice."""

    def __init__(self, way: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.fc, self.way = nn.Linear(CLASSES, CLASSES, bias=False), way
        nn.init.eye_(self.fc.weight)

    def forward(self, x: Tensor) -> Tensor:
        return self.way(self.fc(x))


@pytest.mark.parametrize(
    "way",
    [
        lambda x: x * UP * UP * 2.0**9,
        lambda x: x / 2.0**-60 / 2.0**-60 / 2.0**-9,
        lambda x: functional.leaky_relu(x * UP, 2.0**60) * UP * 2.0**9,
        lambda x: x * UP * UP * 128 + x * UP * UP * 128,
        lambda x: (x * UP * UP * 128)[:, None].expand(-1, 3, -1).sum(1),
    ],
)
def test_logits_themselves_may_not_overflow(way: Callable[[Tensor], Tensor]) -> None:
    found = Ends(way)(torch.ones(1, CLASSES))
    assert not bool(torch.isfinite(found).all()), "the attack works"
    assert count_errors(Ends(way), one_hot_data().train, arithmetic="float32").errors == ROWS


def scaled_module(up: float, down: float) -> nn.Module:
    layers = [nn.Linear(CLASSES, CLASSES) for _ in range(3)]
    for layer, scale in zip(layers, (up, up, down), strict=True):
        with torch.no_grad():
            layer.weight.copy_(scale * torch.eye(CLASSES))
            layer.bias.zero_()
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])


def test_no_deviation_is_bounded_where_either_network_may_overflow() -> None:
    data, large, small = one_hot_data(), scaled_module(2.0**66, 2.0**-64), scaled_module(2.0**20, 2.0**-64)
    for pair in ((large, large), (large, small), (small, large)):
        found = promised_error(*pair, data)
        assert found.unbounded == found.samples
        assert "may overflow" in found.note
    assert promised_error(small, small, data).samples == ROWS


def test_the_original_in_a_box_may_not_overflow_either() -> None:
    """The file's network is harmless; the original lies in its box and overflows."""
    data = one_hot_data(scale=2.0**104)
    pact = seal(scaled_file(0, 0))
    original = pact.to_module()
    with torch.no_grad():
        next(original.parameters()).mul_(1 + 2.0**-10)
    assert certify_box(pact, original, one_hot_data()).errors == 0
    with torch.no_grad():
        next(original.parameters()).mul_(2.0**22)
    assert certify_box(pact, original, data).errors == ROWS


def test_networks_that_may_overflow_agree_on_nothing() -> None:
    data = one_hot_data()
    first, second = (ToleranceRun(scaled_module(2.0**66, 2.0**-64), "float32") for _ in range(2))
    counted = count_disagreements(first, second, data.train)
    assert counted.disagreements == counted.uncertain == ROWS
