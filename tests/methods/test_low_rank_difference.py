"""Differences from a base as products of narrow factors: rounded, and trained under the price of their bits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from methods.conformance import MethodConformance

import netpact
from netpact.coding.forms import Difference, LowRank
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.datasets import ArraySamples, Data
from netpact.methods import METHODS, Method, compress
from netpact.methods.factor_training import SoftFactors, bits_for
from netpact.methods.low_rank_difference import LowRankDifference
from netpact.network import Network, trace
from netpact.pacts.priors import Base, base_of


def _any_base() -> Base:
    """Tensors for both networks of the laws, without buffers, whose law is that they are kept as they are."""
    random = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {"weight": (10, 64), "fc.weight": (10, 64), "fc1.weight": (10, 64)}
    shapes |= {"0.weight": (4, 1, 3, 3), "1.bias": (4,), "5.weight": (10, 36), "5.bias": (10,)}
    return Base("any", {name: 0.1 * random.standard_normal(shape) for name, shape in shapes.items()})


_BASE = _any_base()
_BAD: list[dict[str, Any]] = [
    {"base": _BASE, **bad}
    for bad in (
        {"rank": 0},
        {"rank": 2.0},
        {"rank": True},
        {"bits": 1},
        {"bits": 17},
        {"bits": 9, "epochs": 1},
        {"epochs": -1},
        {"epochs": 1.0},
        {"rate": -1.0},
        {"rate": float("nan")},
        {"learning_rate": 0.0},
        {"seed": -1},
    )
] + [{"base": "base.pact"}]


class TestRounded(MethodConformance):
    sizes: ClassVar[list[Method]] = [
        LowRankDifference(_BASE, rank=rank, bits=bits) for rank, bits in ((1, 3), (1, 6), (2, 6), (2, 12))
    ]
    bad: ClassVar[list[dict[str, Any]]] = _BAD
    linear: ClassVar[bool] = False


class TestTrained(MethodConformance):
    sizes: ClassVar[list[Method]] = [LowRankDifference(_BASE, rank=2, epochs=2, rate=rate) for rate in (8.0, 1.0, 0.0)]
    bad: ClassVar[list[dict[str, Any]]] = _BAD
    linear: ClassVar[bool] = False


@pytest.fixture(scope="module")
def tuned(digits: Data) -> tuple[Base, Network, Data, ArraySamples]:
    """A base for another task on other images, and the network that was fine-tuned from it."""
    x, y = next(iter(digits.train.batches(digits.train.count)))
    others, own = ArraySamples(x[:500], y[:500] % 5, "others", 10), ArraySamples(x[500:], y[500:], "own", 10)
    start = netpact.build(netpact.parse_model("mlp:48", input_shape=digits.input_shape, classes=10), seed=Seed(3))
    ground = netpact.train(start, others, netpact.TrainOptions(epochs=8, learning_rate=0.01)).module
    module = netpact.train(ground, own, netpact.TrainOptions(epochs=6, learning_rate=0.005)).module
    return base_of(ground, name="ground"), trace(module, own), Data("own", 10, own, digits.test), others


def test_the_largest_singular_values_are_kept(tuned: tuple[Base, Network, Data, ArraySamples]) -> None:
    base, network, _, _ = tuned
    small = compress(network, LowRankDifference(base, rank=3, bits=12))
    for name, parameter in network.module.named_parameters():
        beyond = parameter.detach().double().numpy() - base.tensor(name, tuple(parameter.shape))
        found = small.tensors[name].weights()
        if parameter.dim() < 2:
            assert np.abs(found - beyond).max() < 2e-3 * np.abs(beyond).max()
            continue
        form = small.tensors[name].form
        assert isinstance(form, Difference)
        assert isinstance(form.inner, LowRank)
        assert np.linalg.matrix_rank(found) == 3
        left, values, right = np.linalg.svd(beyond)
        best = (left[:, :3] * values[:3]) @ right[:3]
        assert np.linalg.norm(found - best) < 0.01 * np.linalg.norm(best)


def test_where_a_product_would_be_longer_the_entries_are_written(
    tuned: tuple[Base, Network, Data, ArraySamples],
) -> None:
    base, network, _, _ = tuned
    small = compress(network, LowRankDifference(base, rank=9))
    # 9 (48 + 64) < 48 * 64, but 9 (10 + 48) > 10 * 48.
    assert [small.tensors[name].form.name for name in ("fc1.weight", "fc2.weight")] == ["difference", "relative"]


@pytest.mark.parametrize("epochs", [0, 1])
def test_what_did_not_change_costs_nothing(tuned: tuple[Base, Network, Data, ArraySamples], epochs: int) -> None:
    _, network, data, _ = tuned
    same = base_of(network.module, name="same")
    small = netpact.seal(compress(network, LowRankDifference(same, epochs=epochs), samples=data.train))
    assert len(small.message) < 16
    decoded = small.to_module(base=same)
    for name, parameter in network.module.named_parameters():
        assert torch.equal(decoded.get_parameter(name), parameter)


def test_the_message_holds_what_was_trained(tuned: tuple[Base, Network, Data, ArraySamples]) -> None:
    base, network, _, _ = tuned
    parts = LowRankDifference(base, rank=2)._divide(network)
    symbols = SoftFactors(*parts, levels=3, other_bits=0)
    symbols.harden()
    symbols.settle_steps()
    wanted = symbols.weights()
    for name, tensor in symbols.code().items():
        decoded = base.tensor(name, tensor.shape) + tensor.weights()
        assert np.allclose(decoded, wanted[name].detach().numpy(), rtol=1e-5, atol=1e-6), name
    assert [bits_for(levels) for levels in (1, 3, 4, 7, 127)] == [2, 3, 4, 4, 8]


def test_training_beats_rounding_and_verifies(tuned: tuple[Base, Network, Data, ArraySamples]) -> None:
    base, network, data, others = tuned
    bounds = {}
    for epochs in (0, 12):
        method = LowRankDifference(base, rank=2, bits=3, epochs=epochs)
        pact = netpact.seal(compress(network, method, samples=data.train))
        pact = netpact.certify(pact, data, base=base, base_data=others, most_near_ties=1)
        assert netpact.verify(pact, data, base=base, base_data=others).agreed
        assert pact.certificate is not None
        bounds[epochs] = pact.certificate.bound
    assert bounds[12] < bounds[0] - 0.1


def test_a_helper_is_trained_further_on_certified_samples_alone(digits: Data) -> None:
    """The bound counts no others; so labels of the helper's own part cannot change the message."""
    options = netpact.TrainOptions(epochs=2, learning_rate=0.02)
    recipe = netpact.Recipe("linear", options, netpact.Split(percent=50, counter=0))
    helper = netpact.train_helper(digits, recipe)
    module = netpact.build(netpact.parse_model("linear", input_shape=digits.input_shape, classes=10), seed=Seed(5))
    x, y = next(iter(digits.train.batches(digits.train.count)))
    seen, _ = recipe.split.indices(len(y))
    other = y.copy()
    other[seen] = 9 - other[seen]
    messages = {
        netpact.seal(compress(trace(module, digits), method, samples=ArraySamples(x, labels, "train", 10))).message
        for method in (LowRankDifference(helper, rank=2, epochs=1),)
        for labels in (y, other)
    }
    assert len(messages) == 1


def test_refusals(tuned: tuple[Base, Network, Data, ArraySamples], digits: Data) -> None:
    base, network, _, _ = tuned
    with pytest.raises(PactError, match="needs the training samples"):
        compress(network, LowRankDifference(base, epochs=1))
    with pytest.raises(PactError, match="none of its tensors has the name and shape"):
        compress(network, LowRankDifference(Base("other", {"conv.weight": np.zeros((3, 3))})))
    assert "low-rank-difference" in METHODS
    assert repr(replace(LowRankDifference(base), epochs=2)).startswith("LowRankDifference(base='ground', rank=4")
