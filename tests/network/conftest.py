from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def _fixed_surroundings() -> Iterator[None]:
    """Layers made in a test are the same in every run, and a test that changes the number of threads harms nobody."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(5)
        yield
    torch.set_num_threads(before)
