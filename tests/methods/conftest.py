from __future__ import annotations

import pytest
from methods.digit_networks import make_mixed, train_linear

from netpact.datasets import Data
from netpact.network import Network


@pytest.fixture(scope="session")
def linear(digits: Data) -> Network:
    return train_linear(digits)


@pytest.fixture(scope="session")
def mixed(digits: Data) -> Network:
    return make_mixed(digits)
