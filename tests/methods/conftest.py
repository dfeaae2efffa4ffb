from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from methods.digit_networks import make_mixed, train_linear

from netpact.datasets import Data, load_data
from netpact.network import Network


@pytest.fixture(autouse=True)
def _fixed_surroundings() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(5)
        yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def digits() -> Data:
    return load_data("digits")


@pytest.fixture(scope="session")
def linear(digits: Data) -> Network:
    return train_linear(digits)


@pytest.fixture(scope="session")
def mixed(digits: Data) -> Network:
    return make_mixed(digits)
