from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from torch import nn

from netpact.coding.format import Pact, seal
from netpact.datasets import ArraySamples, Data
from netpact.methods import Quantize, compress
from netpact.models import build, parse_model
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.fresh import certify_fidelity, certify_hold_out
from netpact.training import TrainOptions, train


@dataclass(frozen=True, eq=False)
class Case:
    """A trained network, the file made from it, and samples that no choice has seen: held out, and without labels."""

    data: Data
    original: nn.Module
    pact: Pact
    held: ArraySamples
    inputs: NDArray[np.float32]


def make_case(digits: Data, arithmetic: str) -> Case:
    x, y = next(iter(digits.train.batches(digits.train.count)))
    data = Data("part", 10, ArraySamples(x[:800], y[:800], "part train", 10), digits.test)
    start = build(parse_model("linear", input_shape=data.input_shape, classes=10))
    original = train(start, data.train, TrainOptions(epochs=5, learning_rate=0.03)).module
    pact = certify(seal(compress(trace(original, data), Quantize(bits=3), arithmetic=arithmetic)), data)
    held = ArraySamples(x[800:1100], y[800:1100], "held", 10)
    pact = pact.with_hold_out(certify_hold_out(pact, held, data))
    pact = pact.with_hold_out(
        certify_hold_out(original, held, data, arithmetic="as-run" if arithmetic == "as-run" else None)
    )
    pact = pact.with_fidelity(certify_fidelity(pact, original, data, x[1100:]))
    return Case(data, original, pact, held, x[1100:])


@pytest.fixture(scope="session")
def case(digits: Data) -> Case:
    return make_case(digits, "float32")


@pytest.fixture(scope="session")
def ran(digits: Data) -> Case:
    """The same, as run."""
    return make_case(digits, "as-run")
