"""The smallest rank for an error, against trying every rank."""

from __future__ import annotations

import pytest
import torch

from netpact import Seed, cp_decompose
from netpact.algebra import ALSOptions
from netpact.algebra.cp_within import RankSearch, cp_within

OPTIONS = ALSOptions(starts=1)


def of_rank_six() -> torch.Tensor:
    """Components of falling size, orthonormal, so that each rank has a known best error."""
    generator = torch.Generator().manual_seed(0)
    sides = [torch.linalg.qr(torch.randn(size, 6, generator=generator, dtype=torch.float64)).Q for size in (9, 8, 7)]
    return torch.einsum("r,ar,br,cr->abc", 2.0 ** -torch.arange(6, dtype=torch.float64), *sides)


@pytest.mark.parametrize("error", [0.6, 0.3, 0.1, 0.02])
def test_finds_the_smallest_rank(error: float) -> None:
    tensor = of_rank_six()
    by_hand = next(
        rank
        for rank in range(1, 7)
        if cp_decompose(tensor, rank, options=OPTIONS, seed=Seed(0)).relative_error <= error
    )
    found = cp_within(tensor, error, RankSearch(12), options=OPTIONS, seed=Seed(0))
    assert found is not None
    assert found.relative_error <= error
    assert found.rank == by_hand


def test_says_where_no_rank_is_enough() -> None:
    assert cp_within(of_rank_six(), 1e-3, RankSearch(3), options=OPTIONS, seed=Seed(0)) is None


def test_begins_where_it_is_told_and_need_not_bisect() -> None:
    ranks = RankSearch(20, first=9, resolution=1.0)
    found = cp_within(of_rank_six() + 1e-3 * torch.ones(9, 8, 7), 0.3, ranks, options=OPTIONS, seed=Seed(0))
    assert found is not None
    assert found.rank == 9
