from __future__ import annotations

import pytest

from netpact import Data, Picked, PickRecipe, load_data, pick


@pytest.fixture(scope="session")
def digits() -> Data:
    return load_data("digits")


@pytest.fixture(scope="session")
def picked(digits: Data) -> Picked:
    return pick(digits, PickRecipe(width=20, margin=5, most=75))
