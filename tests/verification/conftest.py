from __future__ import annotations

import pytest

from netpact.coding.format import Pact, seal
from netpact.datasets import Data
from netpact.methods import Quantize, compress
from netpact.models import build, parse_model
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.training import TrainOptions, train


@pytest.fixture(scope="session")
def pact(digits: Data) -> Pact:
    """A small ternary linear network, sealed and not yet certified."""
    architecture = parse_model("linear", input_shape=digits.input_shape, classes=digits.classes)
    trained = train(build(architecture), digits.train, TrainOptions(epochs=3, learning_rate=0.02)).module
    return seal(compress(trace(trained, digits), Quantize(grid="ternary", density=0.25)))


@pytest.fixture(scope="session")
def certified(pact: Pact, digits: Data) -> Pact:
    return certify(pact, digits)
