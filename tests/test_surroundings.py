"""What tests/conftest.py promises to every test, whatever the one before has done."""

from __future__ import annotations

import pytest
import torch


@pytest.mark.parametrize("turn", [1, 2])
def test_every_test_starts_from_the_same_numbers_on_one_thread(turn: int) -> None:
    assert torch.get_num_threads() == 1
    assert torch.equal(torch.rand(3), torch.rand(3, generator=torch.Generator().manual_seed(5)))
    torch.set_num_threads(2)
