"""Files that hold a helper network itself, and an original trained further from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from netpact.certificates import OriginalCertificate
from netpact.coding.format import Pact, seal
from netpact.datasets import Data, Split, load_data
from netpact.methods import QuantizeDifference, compress
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.originals import certify_original
from netpact.pacts.priors import Base, helper_module, train_helper
from netpact.training import Recipe, TrainOptions, train

RECIPE = Recipe("linear", TrainOptions(epochs=12, learning_rate=0.02), Split(percent=40, counter=3))


@dataclass(frozen=True, eq=False)
class Case:
    """Data without a test part, whose inputs are the fresh ones; the original has seen all of the data."""

    data: Data
    helper: Base
    original: nn.Module
    fresh: NDArray[np.float32]
    pact: Pact


def stated(case: Case) -> OriginalCertificate:
    assert isinstance(case.pact.original, OriginalCertificate)
    return case.pact.original


def make_case(
    data: Data,
    helper: Base,
    original: nn.Module,
    fresh: NDArray[np.float32],
    *,
    method: Any = None,
    network: nn.Module | None = None,
    arithmetic: str = "float32",
) -> Case:
    """Default: the helper, told as it is."""
    assert helper.recipe is not None
    network = helper_module(helper, helper.recipe, data) if network is None else network
    message = seal(compress(trace(network, data), method or QuantizeDifference(helper), arithmetic=arithmetic))
    base = helper if message.decode().split is not None else None
    pact = certify(message, data, base=base, most_near_ties=1)
    return Case(
        data, helper, original, fresh, pact.with_original(certify_original(pact, original, data, fresh, base=base))
    )


@cache
def held_case() -> Case:
    digits = load_data("digits")
    assert digits.test is not None
    fresh, _ = next(iter(digits.test.batches(digits.test.count)))
    data = Data("digits", 10, digits.train)
    helper = train_helper(data, RECIPE)
    further = TrainOptions(epochs=1, learning_rate=0.0005)
    original = train(helper_module(helper, RECIPE, data), data.train, further).module
    return make_case(data, helper, original, fresh)
