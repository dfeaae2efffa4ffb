"""The law of deviation bounds: measured <= bound, for every kind of network that is supported."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from network.rounding_nets import NETS, make_inputs, make_net
from torch import Tensor, nn
from torch.nn import functional

import netpact
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data
from netpact.deviations import DeviationBound, Walker, compare, deviation_bound
from netpact.network import trace

CLASSES = {"linear": 4}


def data_for(name: str, *, scale: float, seed: int = 0) -> Data:
    inputs = make_inputs(name, scale=scale, seed=seed)
    classes = CLASSES.get(name, 3)
    return Data(name, classes, ArraySamples(inputs, np.arange(len(inputs)) % classes, name, classes))


def disturb(module: nn.Module, amount: float, generator: torch.Generator) -> nn.Module:
    """Every parameter and buffer moved by this share of its size; batch norm's variances stay above 0."""
    other = copy.deepcopy(module)
    with torch.no_grad():
        for tensor in [*other.parameters(), *other.buffers()]:
            if tensor.is_floating_point():
                tensor.mul_(1 + amount * (2 * torch.rand(tensor.shape, generator=generator) - 1))
    return other


def seeded_net(name: str, seed: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make_net(name)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(sorted(NETS)),
    seed=st.integers(0, 10_000),
    exponent=st.floats(-8, -0.2),
    scale=st.sampled_from([1e-3, 1.0, 30.0]),
    double=st.booleans(),
)
def test_measured_never_exceeds_the_bound(name: str, seed: int, exponent: float, scale: float, double: bool) -> None:
    original = seeded_net(name, seed)
    compressed = disturb(original, 10**exponent, torch.Generator().manual_seed(seed))
    if double:
        compressed = compressed.double()
    data = data_for(name, scale=scale, seed=seed)
    deviation = deviation_bound(original, compressed, data)
    assert bool((deviation.measured <= deviation.bounds).all())
    inputs = next(iter(data.train.batches(64)))[0]
    with torch.no_grad():
        x = torch.from_numpy(inputs)
        apart = original(x).double() - compressed(x.double() if double else x).double()
    assert bool((torch.linalg.vector_norm(apart, dim=1).numpy() <= deviation.bounds).all())


# The median over the samples of bound / measured at a change of 1 %: how loose the calculus may be, and is not.
LOOSENESS = {
    "linear": 1.01,
    **dict.fromkeys(("mlp", "smooth", "leaky", "gates", "bends"), 12),
    **dict.fromkeys(("conv", "pools", "residual", "numbers"), 60),
    **dict.fromkeys(("affine", "moves"), 150),
}


@pytest.mark.parametrize("name", NETS)
def test_how_loose_bounds_are(name: str, record_property: Callable[[str, object], None]) -> None:
    found = []
    for seed in range(5):
        original = seeded_net(name, seed)
        compressed = disturb(original, 0.01, torch.Generator().manual_seed(seed))
        found.append(deviation_bound(original, compressed, data_for(name, scale=1.0)).looseness)
    record_property("looseness", float(np.median(found)))
    assert 1 <= np.median(found) <= LOOSENESS[name]


def test_equal_networks_differ_by_rounding_alone() -> None:
    for name in NETS:
        original = seeded_net(name, 1)
        deviation = deviation_bound(original, copy.deepcopy(original), data_for(name, scale=1.0))
        assert deviation.measured.max() == 0
        assert 0 < deviation.bounds.max() < 1e-2
        assert all(part.change == part.shift == 0 for part in deviation.layers)


def test_the_rounding_of_either_network_is_part_of_it() -> None:
    """Large numbers that cancel: float32 runs of one network differ from each other by more than real numbers do."""
    original = nn.Linear(200, 2, bias=False)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        original.weight.copy_(torch.randn(2, 200, generator=generator) * 1e4)
    x = torch.randn(16, 200, generator=generator).numpy()
    data = Data("cancel", 2, ArraySamples(x, np.arange(16) % 2, "cancel", 2))
    deviation = deviation_bound(original, copy.deepcopy(original), data)
    shuffled = torch.randperm(200, generator=generator)
    with torch.no_grad():
        one = original(torch.from_numpy(x))
        other = functional.linear(torch.from_numpy(x)[:, shuffled], original.weight[:, shuffled])
    apart = torch.linalg.vector_norm((one - other).double(), dim=1).numpy()
    assert apart.max() > 0
    assert (apart <= deviation.bounds).all()


def test_methods_files_and_modules_give_one_bound() -> None:
    digits = netpact.load_data("digits")
    x, y = next(iter(digits.train.batches(100)))
    data = Data("few", 10, ArraySamples(x, y, "few", 10))
    original = netpact.build(netpact.parse_model("mlp", input_shape=(1, 8, 8), classes=10))
    network = trace(original, data)
    compressed = netpact.compress(network, netpact.Quantize(bits=6))
    pact = netpact.seal(compressed)
    all_bounds = [deviation_bound(network, form, data) for form in (compressed, pact, pact.to_module())]
    all_bounds.append(deviation_bound(original, pact, (x, y)))
    for deviation in all_bounds[1:]:
        assert np.array_equal(deviation.bounds, all_bounds[0].bounds)
    finer = deviation_bound(original, netpact.compress(network, netpact.Quantize(bits=8)), data)
    assert finer.quantiles()["most"] < all_bounds[0].quantiles()["least"]


class Own(nn.Module):
    def __init__(self, call: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 6)
        self.call = call

    def forward(self, x: Tensor) -> Tensor:
        return self.call(self, x)


def own_data() -> Data:
    x = np.random.default_rng(0).random((8, 6), dtype=np.float32)
    return Data("own", 6, ArraySamples(x, np.arange(8) % 6, "own", 6))


WAYS_AROUND: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "prelu by a parameter or buffer outside its layer": lambda m, x: functional.prelu(m.fc(x), m.fc.bias),
    "add of a Tensor that does not come from the input": lambda m, x: m.fc(x) + torch.ones(6).to(x.dtype),
    "linear by a parameter or buffer outside its layer": lambda m, x: functional.linear(m.fc(x), m.fc.weight),
    "the operation tanh uses a parameter or buffer outside its layer": lambda m, x: m.fc(x) + torch.tanh(m.fc.bias),
    "the operation neg uses a parameter or buffer outside its layer": lambda m, x: m.fc(x) - (-m.held[0]),
}


@pytest.mark.parametrize("problem", WAYS_AROUND)
def test_ways_around_a_layer_have_no_bound(problem: str) -> None:
    """What was measured is there, and what has no rule is named; nothing looks like a bound."""
    module: Any = Own(WAYS_AROUND[problem])
    module.held = [module.fc.bias]
    other: Any = disturb(module, 0.01, torch.Generator().manual_seed(0))
    other.held = [other.fc.bias]
    if "neg" not in problem:
        deviation = deviation_bound(module, other, own_data())
        assert deviation.unruled == (problem,)
        assert bool(np.isinf(deviation.bounds).all())
        assert bool((deviation.measured > 0).all())
        assert [part.name for part in deviation.layers] == ["fc"]
        return
    layers = {"fc": compare(run=module.fc, other=other.fc)}
    walker = Walker(module, layers, arithmetic="float32", other_arithmetic="float32")
    with pytest.raises(PactError, match="outside its layer"):
        walker(next(iter(own_data().train.batches(4)))[0])


def test_a_network_that_mixes_samples_is_refused() -> None:
    module = Own(lambda m, x: m.fc(x + x.mean(dim=0, keepdim=True)))
    with pytest.raises(PactError, match="depend on the other samples"):
        deviation_bound(module, copy.deepcopy(module), own_data())


def test_all_problems_are_named_at_once() -> None:
    module = Own(lambda m, x: functional.prelu(m.fc(x + torch.ones(6).to(x.dtype)), m.fc.bias))
    deviation = deviation_bound(module, copy.deepcopy(module), own_data())
    assert [words.split()[0] for words in deviation.unruled] == ["add", "prelu"]
    assert "no deviation bound" in str(deviation)
    assert all(words in str(deviation) for words in deviation.unruled)
    assert "at most inf" not in str(deviation)


def test_integers_that_an_operation_without_a_rule_gave_make_no_bound() -> None:
    """Which entry is the largest may differ between the networks; what it picks is within no bound."""
    module = Own(lambda m, x: m.fc(x) + functional.embedding(m.fc(x).argmax(1), m.fc.weight))
    deviation = deviation_bound(module, copy.deepcopy(module), own_data())
    assert deviation.unruled == ("argmax",)
    assert bool(np.isinf(deviation.bounds).all())


def test_samples_without_a_bound_beside_others() -> None:
    """A divisor that may vanish for one sample: that one has no bound, and the others keep theirs."""
    module = Own(lambda m, x: m.fc(x) / m.fc(x)[:, :1])
    with torch.no_grad():
        module.fc.weight.copy_(torch.eye(6))
        module.fc.bias.zero_()
    x = np.full((6, 6), 0.25, dtype=np.float32)
    x[1, 0] = 2**-10
    compressed = copy.deepcopy(module)
    with torch.no_grad():
        compressed.fc.bias.add_(2**-11)
    deviation = deviation_bound(module, compressed, (x, np.arange(6)))
    assert np.isinf(deviation.bounds).tolist() == [place == 1 for place in range(6)]
    assert "no bound for 1 samples" in str(deviation)
    two = DeviationBound(np.array([1.0, np.inf, 3.0]), np.array([0.5, 2.0, 1.0]), deviation.layers, "x")
    assert two.unbounded == 1
    assert "on 2 of these 3 samples of x the logits differ by at most 3 (median 3)" in str(two)
    assert list(two.to_json()["promised"].values()) == [1.0, 3.0, 3.0, None, None]  # type: ignore[attr-defined]
    none = DeviationBound(np.array([np.inf]), np.array([0.5]), deviation.layers, "x")
    assert str(none).startswith("no deviation bound on these 1 samples of x: an activation may overflow")
    with pytest.raises(PactError, match="leave no bound"):
        DeviationBound(np.array([1.0]), np.array([0.5]), (), "x", ("lstm",))


def test_networks_that_cannot_be_compared() -> None:
    first = nn.Sequential(nn.Linear(6, 6), nn.ReLU())
    for other, problem in (
        (nn.Sequential(nn.Linear(6, 6), nn.Tanh()), "1: ReLU.* against 1: Tanh"),
        (nn.Sequential(nn.Linear(6, 6)), "not of one structure"),
        (nn.Sequential(nn.Linear(6, 6, bias=False), nn.ReLU()), "bias=True.* against .*bias=False"),
        (nn.Sequential(nn.Linear(6, 6), nn.ReLU()).half(), "float32 or float64, are needed, got torch.float16"),
        ("net.pact", "net.pact: cannot read the file"),
    ):
        with pytest.raises(PactError, match=problem):
            deviation_bound(first, other, own_data())


def test_other_code_under_the_same_names_is_found_out() -> None:
    """One class, one set of layers, two computations: only the numbers tell."""
    module = Own(lambda m, x: m.fc(x))
    other = copy.deepcopy(module)
    other.call = lambda m, x: m.fc(x) + 1.0
    with pytest.raises(PactError, match=r"differ by .*, more than the proven"):
        deviation_bound(module, other, own_data())


def test_the_record() -> None:
    original = seeded_net("mlp", 0)
    compressed = disturb(original, 0.1, torch.Generator().manual_seed(0))
    deviation = deviation_bound(original, compressed, data_for("mlp", scale=1.0))
    record = json.loads(json.dumps(deviation.to_json()))
    assert record["kind"] == deviation.kind == "promise"
    assert record["promised"]["most"] == deviation.bounds.max()
    assert record["promised"]["least"] <= record["promised"]["median"] <= record["promised"]["most"]
    assert [part["name"] for part in record["layers"]] == ["0", "3", "4"]
    assert "deviation bound: on these 16 samples" in str(deviation)
    with pytest.raises(ValueError, match="read-only"):
        deviation.bounds[0] = 0
    with pytest.raises(PactError, match="for each sample"):
        DeviationBound(np.ones(2), np.ones(3), (), "x")
    same = deviation_bound(original, copy.deepcopy(original), data_for("mlp", scale=1.0))
    assert same.to_json()["looseness"] is None


def test_the_network_itself_is_left_alone() -> None:
    original = seeded_net("conv", 0)
    before = {name: tensor.clone() for name, tensor in original.state_dict().items()}
    layers = {name: compare(run=part, other=part) for name, part in original.named_children() if name in "0136"}
    Walker(original, layers, arithmetic="float32", other_arithmetic="float32")(make_inputs("conv", scale=1.0))
    assert all(torch.equal(tensor, before[name]) for name, tensor in original.state_dict().items())
    assert not any("forward" in vars(part) for part in original.modules())
