from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from torch import nn

from netpact.certification import certify
from netpact.datasets import Data, Split, load_data
from netpact.format import Base, Pact, seal
from netpact.methods import QuantizeDifference, compress
from netpact.network import trace
from netpact.priors import helper_module, train_helper
from netpact.training import Recipe, TrainOptions, train


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@dataclass(frozen=True, eq=False)
class Case:
    """A helper that has seen 40 % of digits, a network trained further on everything, the file that tells it."""

    data: Data
    helper: Base
    recipe: Recipe
    network: nn.Module
    pact: Pact


@pytest.fixture(scope="session")
def case() -> Case:
    torch.set_num_threads(1)
    data = load_data("digits")
    recipe = Recipe("linear", TrainOptions(epochs=12, learning_rate=0.02), Split(percent=40, counter=3))
    helper = train_helper(data, recipe)
    start = helper_module(helper, recipe, data)
    network = train(start, data.train, TrainOptions(epochs=1, learning_rate=0.001)).module
    pact = seal(compress(trace(network, data), QuantizeDifference(helper, bits=2)))
    return Case(data, helper, recipe, network, certify(pact, data, base=helper))
