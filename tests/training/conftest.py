from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from netpact.datasets import Data, load_data


@pytest.fixture(autouse=True)
def _fixed_surroundings() -> Iterator[None]:
    """Equal bits are promised for an equal number of threads; layers made in a test are the same in every run."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(11)
        yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def digits() -> Data:
    return load_data("digits")
