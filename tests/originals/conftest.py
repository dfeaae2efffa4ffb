from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from originals.helper_cases import Case as HelperCase
from originals.helper_cases import held_case
from torch import nn

from netpact.certificates import BoxCertificate
from netpact.coding.format import Pact, seal
from netpact.datasets import ArraySamples, Data
from netpact.methods import Quantize, compress
from netpact.models import build, parse_model
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.originals import certify_box, certify_original
from netpact.training import TrainOptions, train


@dataclass(frozen=True, eq=False)
class Case:
    """A trained network, the file made from it with both statements, and inputs that no choice has seen."""

    data: Data
    original: nn.Module
    pact: Pact
    fresh: NDArray[np.float32]


@pytest.fixture(scope="session")
def case(digits: Data) -> Case:
    x, y = next(iter(digits.train.batches(digits.train.count)))
    data = Data("part", 10, ArraySamples(x[:1000], y[:1000], "part train", 10), digits.test)
    start = build(parse_model("linear", input_shape=data.input_shape, classes=10))
    original = train(start, data.train, TrainOptions(epochs=15, learning_rate=0.02)).module
    pact = certify(seal(compress(trace(original, data), Quantize(bits=4))), data)
    return Case(data, original, pact.with_original(certify_original(pact, original, data, x[1000:])), x[1000:])


@pytest.fixture(scope="session")
def boxed(case: Case) -> Case:
    """The linear network of the other tests, at 6 bits and with a box."""
    network = trace(case.original, case.data)
    pact = certify(seal(compress(network, Quantize(bits=6))), case.data)
    return replace(case, pact=pact.with_original(certify_box(pact, case.original, case.data)))


@pytest.fixture(scope="session")
def held() -> HelperCase:
    return held_case()


def stated_box(case: Case) -> BoxCertificate:
    assert isinstance(case.pact.original, BoxCertificate)
    return case.pact.original


def forge_box(case: Case, **changes: Any) -> Pact:
    return Pact.from_bytes(case.pact.with_original(replace(stated_box(case), **changes)).to_bytes())
