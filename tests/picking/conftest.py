from __future__ import annotations

from dataclasses import replace

import pytest

import netpact
from netpact import Data, Pact, Picked, PickRecipe, load_data, pick
from netpact.datasets import Samples, as_samples


@pytest.fixture(scope="session")
def digits() -> Data:
    return load_data("digits")


@pytest.fixture(scope="session")
def picked(digits: Data) -> Picked:
    return pick(digits, PickRecipe(width=20, margin=5, most=75))


@pytest.fixture(scope="session")
def others(digits: Data) -> Samples:
    """What the base was trained on: digits that are not among the samples."""
    x, y = next(iter(digits.train.batches(700)))
    return as_samples((x, y), classes=10)


@pytest.fixture(scope="session")
def rest(digits: Data) -> Data:
    x, y = next(iter(digits.train.batches(digits.train.count)))
    return replace(digits, name="rest", train=as_samples((x[700:], y[700:]), classes=10))


@pytest.fixture(scope="session")
def ground(others: Samples) -> Pact:
    """A small integer network with two layers that read integers."""
    start = netpact.build(netpact.parse_model("mlp:24-16", input_shape=(1, 8, 8), classes=10))
    module = netpact.train(start, others, netpact.TrainOptions(epochs=12, learning_rate=0.01)).module
    data = Data("others", 10, others)
    small = netpact.compress(netpact.trace(module, data), netpact.WholeNumber(), samples=others)
    return netpact.certify(netpact.seal(small), data)


@pytest.fixture(scope="session")
def on_base(rest: Data, ground: Pact, others: Samples) -> Picked:
    return pick(rest, PickRecipe(features="base", layer=2, start=5, width=30, margin=4), base=ground, base_data=others)
