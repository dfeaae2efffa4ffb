from __future__ import annotations

from dataclasses import dataclass

import pytest
from torch import nn

from netpact.coding.format import Pact, seal
from netpact.datasets import Data, Split
from netpact.methods import QuantizeDifference, compress
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.pacts.priors import Base, helper_module, train_helper
from netpact.training import Recipe, TrainOptions, train


@dataclass(frozen=True, eq=False)
class Case:
    """A helper that has seen 40 % of digits, a network trained further on everything, the file that tells it."""

    data: Data
    helper: Base
    recipe: Recipe
    network: nn.Module
    pact: Pact


@pytest.fixture(scope="session")
def case(digits: Data) -> Case:
    recipe = Recipe("linear", TrainOptions(epochs=12, learning_rate=0.02), Split(percent=40, counter=3))
    helper = train_helper(digits, recipe)
    start = helper_module(helper, recipe, digits)
    network = train(start, digits.train, TrainOptions(epochs=1, learning_rate=0.001)).module
    pact = seal(compress(trace(network, digits), QuantizeDifference(helper, bits=2)))
    return Case(digits, helper, recipe, network, certify(pact, digits, base=helper))
