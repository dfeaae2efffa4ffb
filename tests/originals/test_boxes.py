"""The box around a network: how it is written, what lies in it, and which samples it can take away."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from originals.conftest import Case, forge_box
from originals.conftest import stated_box as stated
from torch import nn

from netpact.certificates import BoxCertificate, code_bits
from netpact.coding import ShortFloat
from netpact.coding.format import seal
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.deviations import margin_needed
from netpact.layers import ChannelAffine
from netpact.methods import Quantize, compress
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.originals import box as boxes
from netpact.pacts.originals import box_checking, box_stating, certify_box, verify_box
from netpact.pacts.originals.box import Side, decode_box, encode_box, escapes, make_box
from netpact.pacts.originals.box_counting import count_reachable_errors, walk_box
from netpact.training import TrainOptions, train


def small_net(seed: int = 0) -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        norm = nn.BatchNorm2d(3)
        for tensor in (*norm.parameters(), norm.running_var):
            assert tensor is not None
            nn.init.uniform_(tensor, 0.5, 2.0)
        last = nn.Linear(12, 3)
        return nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), norm, nn.ReLU(), nn.AvgPool2d(4), nn.Flatten(), last).eval()


def affine_net() -> nn.Sequential:
    """Folded batch norm that no convolution could take in: a scale and a shift for each channel."""
    pools = (nn.MaxPool2d(3, stride=2), nn.AvgPool2d(3), nn.Flatten())
    net = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(), ChannelAffine(3), *pools, nn.Linear(3, 3))
    for parameter in net[2].parameters():
        nn.init.uniform_(parameter, 0.5, 2.0)
    return net.eval()


def near(net: nn.Module, amount: float, generator: torch.Generator) -> Any:
    other = copy.deepcopy(net)
    with torch.no_grad():
        for tensor in [*other.parameters(), *other.buffers()]:
            if tensor.is_floating_point():
                tensor.add_(amount * torch.rand(tensor.shape, generator=generator))
    return other


numbers = st.one_of(st.none(), st.builds(ShortFloat, st.integers(-64, 63), st.integers(0, 15)))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(sides=st.lists(st.builds(Side, numbers, numbers), min_size=3, max_size=3))
def test_boxes_come_back(sides: list[Side]) -> None:
    net = small_net()
    assert decode_box(encode_box(tuple(sides), net), net) == tuple(sides)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(message=st.binary(max_size=20))
def test_hostile_boxes_are_refused_or_canonical(message: bytes) -> None:
    net = small_net()
    try:
        box = decode_box(message, net)
    except PactError:
        return
    assert encode_box(box, net) == message


@pytest.mark.parametrize("damage", [b"\0", b"\x01", b"\xff" * 8])
def test_trailing_bytes_are_refused(boxed: Case, damage: bytes) -> None:
    module = boxed.pact.to_module()
    with pytest.raises(PactError, match="not the message of the box"):
        decode_box(stated(boxed).box_message + damage, module)
    message = stated(boxed).box_message + damage
    bits = boxed.pact.code_bits + code_bits(len(message))
    with pytest.raises(PactError, match="box"):
        verify_box(forge_box(boxed, box=message.hex(), code_bits=bits), boxed.original, boxed.data)


def test_a_layer_without_biases_has_no_shift() -> None:
    net = nn.Sequential(nn.Linear(3, 2, bias=False))
    assert encode_box((Side(None, None),), net) != encode_box((Side(ShortFloat(0, 0), None),), net)
    with pytest.raises(PactError, match="no shift"):
        encode_box((Side(None, ShortFloat(0, 0)),), net)
    with pytest.raises(PactError, match="1 layers, but the box has 0 sides"):
        encode_box((), net)


@pytest.mark.parametrize("amount", [0.0, 1e-30, 1e-9, 1e-3, 0.9, 1e6])
def test_the_original_is_in_its_box_and_the_box_is_small(amount: float) -> None:
    net = small_net()
    other = near(net.double(), amount, torch.Generator().manual_seed(1)).double()
    box = make_box(net, other)
    assert not list(escapes(box, net, other))
    for side, name in zip(box, ("0", "1", "5"), strict=True):
        found = boxes.measure_distance(net.get_submodule(name), other.get_submodule(name))
        for given_, least in ((side.distance.weights, found.weights), (side.distance.shift, found.shift)):
            assert least <= given_ <= max(least * 1.07, 2.0**-64)
    with pytest.raises(PactError, match="too far from the compressed network"):
        make_box(net, near(net, 1e30, torch.Generator().manual_seed(1)))


# --- the count --------------------------------------------------------------------------------------------------------


def margins(module: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    logits = module(x)
    rivals = logits.scatter(1, y[:, None], -torch.inf).amax(dim=1)
    return logits.gather(1, y[:, None]).squeeze(1) - rivals


def attack(net: Any, box: boxes.Box, x: torch.Tensor, y: torch.Tensor, steps: int) -> Any:
    """A network at the corner of the box: every layer moved against the margin of the samples, as far as it may."""
    other = copy.deepcopy(net)
    layers: list[tuple[str, Any]] = list(boxes._layers(net).items())
    for _ in range(steps):
        gradients = torch.autograd.grad(margins(other, x, y).sum(), list(other.parameters()))
        named = dict(zip([name for name, _ in other.named_parameters()], gradients, strict=True))
        with torch.no_grad():
            for side, (name, layer) in zip(box, layers, strict=True):
                target = other.get_submodule(name)
                if isinstance(layer, nn.modules.batchnorm._BatchNorm):
                    continue
                change = copy.deepcopy(layer)
                change.weight.copy_(-named[f"{name}.weight"])
                size = boxes.measure_distance(change, zeroed(change)).weights
                target.weight.copy_(layer.weight + change.weight * (side.distance.weights / size))
                slope = named[f"{name}.bias"]
                target.bias.copy_(layer.bias - slope * (side.distance.shift / slope.norm()))
    return other


def zeroed(layer: Any) -> Any:
    zero = copy.deepcopy(layer)
    with torch.no_grad():
        zero.weight.zero_()
    return zero


@pytest.mark.parametrize("kind", ["linear", "mlp", "conv", "affine"])
def test_no_network_in_the_box_errs_on_a_sample_that_is_not_counted(kind: str) -> None:
    """At random and at the corners: the logits stay within E(x), and margins above sqrt(2) E(x) stay positive."""
    generator = torch.Generator().manual_seed(3)
    nets = {
        "linear": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 3)),
        "mlp": lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 3)),
        "conv": small_net,
        "affine": affine_net,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        net = nets[kind]().double().eval()
    x = torch.rand(24, 1, 8, 8, generator=generator)
    y = net(x.double()).argmax(dim=1)
    data = ArraySamples(x.numpy(), y.numpy(), "x", 3)
    drawn = near(net, 0.004, generator)
    box = make_box(net, drawn)
    ((walked, _),) = walk_box(net, box, data, arithmetic="float64", batch=64, progress=None)
    safe = margins(net, x.double(), y).detach() > margin_needed(walked.bound)
    others = [drawn, *(attack(net, box, x[k : k + 1].double(), y[k : k + 1], steps=2) for k in range(8))]
    assert not list(escapes(box, net, drawn))
    worst = 0.0
    for other in others:
        with torch.no_grad():
            apart = torch.linalg.vector_norm(other(x.double()) - walked.values, dim=1)
            assert bool((apart <= walked.bound).all())
            assert bool((margins(other, x.double(), y)[safe] > 0).all())
            worst = max(worst, float((apart / walked.bound).max()))
            single = copy.deepcopy(other).float()
            if not list(escapes(box, net, single)):
                assert bool((torch.linalg.vector_norm(single(x).double() - walked.values, dim=1) <= walked.bound).all())
    # For one layer the corner is reached: a bound that is 5 % smaller would be wrong.
    assert worst > {"linear": 0.95, "mlp": 0.25, "conv": 0.02, "affine": 0.02}[kind]
    errors = count_reachable_errors(net, box, data, arithmetic="float64")
    assert errors == box_checking._recount(net, box, data, "float64", None) == int((~safe).sum())


def test_a_box_around_scales_and_norms_is_stated_and_verified(digits: Data) -> None:
    """A scale for each channel of an image, and a batch norm of a vector: both are sides of the box like any other."""
    x, y = next(iter(digits.train.batches(400)))
    data = Data("part", 10, ArraySamples(x, y, "part", 10))

    def make() -> nn.Module:
        return nn.Sequential(ChannelAffine(1), nn.AvgPool2d(4), nn.Flatten(), nn.BatchNorm1d(4), nn.Linear(4, 10))

    original = train(make(), data.train, TrainOptions(epochs=2, learning_rate=0.02)).module
    pact = certify(seal(compress(trace(original, data), Quantize(bits=8))), data, model=make)
    pact = pact.with_original(certify_box(pact, original, data, model=make))
    assert isinstance(pact.original, BoxCertificate)
    sides = decode_box(pact.original.box_message, pact.to_module(make()))
    assert len(sides) == 3
    assert all(side.weights is not None and side.shift is not None for side in sides)
    assert verify_box(pact, original, data, model=make).agreed


class Unruly(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.fc(x)
        return y - y.amax(dim=0, keepdim=True) + nn.functional.logsigmoid(y) + self.fc.bias


def test_all_that_has_no_bound_is_named_at_once() -> None:
    data = ArraySamples(np.ones((5, 4), dtype=np.float32), np.arange(5) % 3, "ones", 3)
    with pytest.raises(PactError) as caught:
        count_reachable_errors(Unruly(), (Side(None, None),), data, arithmetic="float32")
    for problem in ("amax across samples", "log_sigmoid", "add by a parameter or buffer outside its layer"):
        assert f"\n  {problem}" in caught.value.what


def test_near_ties_of_the_file_s_network_are_counted() -> None:
    """With an empty box what is left are the two networks' roundings."""
    net = nn.Linear(3, 3, bias=False)
    with torch.no_grad():
        net.weight.copy_(torch.eye(3))
    x = np.array([[1, 0, 0], [1, 1, 0], [np.nextafter(np.float32(1), np.float32(0)), 0, 1]], dtype=np.float32)
    data = ArraySamples(x, np.array([0, 0, 2]), "ties", 3)
    assert count_reachable_errors(net, (Side(None, None),), data, arithmetic="float32") == 2
    assert box_checking._recount(net, (Side(None, None),), data, "float32", None) == 2


def test_the_rounding_of_the_file_s_network_counts_beside_the_box() -> None:
    """Margins just below and just above sqrt(2) E(x) plus what rounding can do to the two logits."""
    generator = torch.Generator().manual_seed(5)
    net = nn.Linear(200, 2, bias=False)
    with torch.no_grad():
        net.weight.copy_(torch.randn(2, 200, generator=generator))
    across = (net.weight[0] - net.weight[1]).detach().double()
    start = torch.randn(200, generator=generator).double()
    start -= across * (start @ across) / (across @ across)

    def count(margin: float) -> tuple[int, int]:
        x = (start + across * margin / (across @ across)).float()
        data = ArraySamples(x.numpy()[None], np.array([0]), "one", 2)
        box = (Side(None, None),)
        recounted = box_checking._recount(net, box, data, "float32", None)
        return count_reachable_errors(net, box, data, arithmetic="float32"), recounted

    tie = ArraySamples(start.float().numpy()[None], np.array([0]), "tie", 2)
    ((walked, _),) = walk_box(net, (Side(None, None),), tie, arithmetic="float32", batch=1, progress=None)
    needed, rounding = float(margin_needed(walked.bound)), float(walked.spread.sum())
    assert rounding > 1e-3
    assert count(needed + 0.8 * rounding) == (1, 1)
    assert count(needed + 1.2 * rounding) == (0, 0)


def test_a_wider_box_counts_more(boxed: Case) -> None:
    module = boxed.pact.to_module()
    (side,) = decode_box(stated(boxed).box_message, module)
    assert side.weights is not None
    counts = [
        count_reachable_errors(
            module,
            (Side(ShortFloat(side.weights.exponent + k, 0), side.shift),),
            boxed.data.train,
            arithmetic="float32",
        )
        for k in (-2, 0, 1, 6)
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] == 1000


def test_certify_counts_with_the_coded_box(boxed: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with the exact distances: what is not in the message cannot enter the count."""
    seen = []

    def count(module: nn.Module, box: boxes.Box, *_: Any, **__: Any) -> int:
        seen.append(box)
        return 7

    monkeypatch.setattr(box_stating, "count_reachable_errors", count)
    certificate = certify_box(boxed.pact, boxed.original, boxed.data)
    assert seen == [decode_box(certificate.box_message, boxed.pact.to_module())]
