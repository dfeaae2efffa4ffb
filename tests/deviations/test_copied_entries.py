"""Entries that one operation uses in several places, lines up with other samples, or rounds in many places."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from deviations.test_deviation_rules import run
from deviations.worst_cases import Worst, measure, pair
from torch import Tensor

COPIED: dict[str, Worst] = {
    "where, of few entries": Worst((1, 4), lambda x: torch.where(torch.ones(3, 4, dtype=torch.bool), x, 0.0)),
    "masked_fill, of few entries": Worst((1, 4), lambda x: x.masked_fill(torch.zeros(3, 4, dtype=torch.bool), 0.0)),
    "einsum, summed over one tensor": Worst(
        (4,), lambda x: torch.einsum("bi,bj->bj", x, x[:, :1] * 0.0 + 1.0), at=((0,), (1,), (2,), (3,))
    ),
    "einsum, summed over the other": Worst((4,), lambda x: torch.einsum("bi,bj->bi", x[:, :1] * 0.0 + 1.0, x)),
    "einsum, an outer product": Worst((4,), lambda x: torch.einsum("bi,bj->bij", x, x[:, :2] * 0.0 + 1.0)),
}


@pytest.mark.parametrize("name", COPIED)
def test_every_copy_counts(name: str) -> None:
    measured, allowed = measure(*pair(COPIED[name]))
    assert measured <= allowed <= 1.5 * measured


@torch.no_grad()
def test_matrices_are_not_lined_up_with_other_samples() -> None:
    """As many heads as samples: torch lines the first axis of the second up with the heads of the first."""
    values = torch.ones(2, 2, 3, 3, dtype=torch.float64)
    result, walk = run(lambda x: x @ x[:, 0], values, torch.tensor([0.0, 0.1], dtype=torch.float64))
    assert walk.problems() == ["matmul that mixes samples"]
    assert bool(torch.isinf(result.bound).all())


NUMBERS: dict[str, Callable[[Tensor], Tensor]] = {
    "where": lambda x: torch.where(torch.zeros(x.shape[-1], dtype=torch.bool), x, 0.1),
    "masked_fill": lambda x: x.masked_fill(torch.ones(x.shape[-1], dtype=torch.bool), 0.1),
    "masked_fill_": lambda x: x.clone().masked_fill_(torch.ones(x.shape[-1], dtype=torch.bool), 0.1),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_rounded_in_every_place(name: str) -> None:
    """Nothing differs but that 0.1 is another number in float32."""
    values = torch.zeros(1, 64, dtype=torch.float64)
    result, _ = run(NUMBERS[name], values, torch.zeros(1, dtype=torch.float64))
    apart = torch.linalg.vector_norm(NUMBERS[name](values.float()).double() - NUMBERS[name](values))
    assert 0 < float(apart) <= float(result.bound) < 1e-6
