"""What every test relies on: Ctrl-C works, equal surroundings in every run, one copy of the digits."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from netpact.datasets import Data

# A shell starts background jobs with Ctrl-C ignored, and children inherit that: the interrupt tests would hang.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first: a minute's test that is left to the end leaves the other workers idle."""
    items.sort(key=lambda item: not item.name.startswith(("test_records_verify", "test_selections_verify")))


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Equal bits are promised for an equal number of threads, and fixtures of a whole session count on them too."""
    if "torch" in sys.modules:  # whoever runs only the rooms without torch need not wait for it
        sys.modules["torch"].set_num_threads(1)


@pytest.fixture(autouse=True)
def _fixed_surroundings(_one_thread: None) -> Iterator[None]:
    """Layers made in a test are the same in every run, and a test that changes the number of threads harms nobody."""
    if "torch" not in sys.modules:
        yield
        return
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(5)
        yield
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def digits() -> Data:
    from netpact.datasets import load_data

    return load_data("digits")
