"""The rows of Guha et al. 2023: a matrix by hand, and that they are measured only where they are named."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from netpact import PactError
from netpact.measurements import QUANTITIES, MeasureOptions, measure
from netpact.papers.guha.masks import draw_mask

NAMES = (
    *("weight_variance", "kept_share", "kept_share_normal", "pruned_square", "pruned_square_normal"),
    *("pruned_fourth", "pruned_fourth_normal", "column_nonzeros", "row_nonzeros", "nonzeros_normal"),
)
WEIGHT = np.array([[1.0, -1.0, 3.0], [-3.0, 0.0, 0.0]])  # mean 0, variance 20 / 6


@pytest.fixture
def network() -> nn.Sequential:
    layer = nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(WEIGHT))
    return nn.Sequential(layer).eval()


DATA = (np.random.default_rng(0).random((8, 3)).astype(np.float32), np.arange(8) % 2)


def test_by_hand(network: nn.Sequential) -> None:
    found = measure(network, DATA, MeasureOptions(only=NAMES, prune_scale=2.0)).layers[0]
    psi = 20 / 6
    small, large = math.exp(-1 / (2 * psi)), math.exp(-9 / (2 * psi))
    assert found["weight_variance"].value == pytest.approx(psi)
    assert found["kept_share"].value == pytest.approx(1 - (2 + 2 * small + 2 * large) / 6)
    assert found["pruned_square"].value == pytest.approx((2 * small + 18 * large) / 6)
    assert found["pruned_fourth"].value == pytest.approx((2 * small + 162 * large) / 6)
    assert found["kept_share_normal"].value == pytest.approx(1 - math.sqrt(0.5))
    assert found["pruned_square_normal"].value == pytest.approx(0.5**1.5 * psi)
    assert found["pruned_fourth_normal"].value == pytest.approx(3 * 0.5**2.5 * psi**2)
    assert found["nonzeros_normal"].value == pytest.approx(3 * 3 * (1 - math.sqrt(0.5)))
    assert found["kept_share"].exact
    assert not found["row_nonzeros"].exact, "one draw"


def test_most_entries_of_a_row_and_of_a_column() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(40, 15)
    data = (np.random.default_rng(0).random((30, 40)).astype(np.float32), np.arange(30) % 15)
    found = measure(nn.Sequential(layer).eval(), data, MeasureOptions(only=NAMES, prune_scale=3.0)).layers[0]
    kept = draw_mask(layer.weight, scale=3.0, seed=0, layer=0).numpy()
    assert found["column_nonzeros"].value == max(sum(column) for column in kept.T)
    assert found["row_nonzeros"].value == max(sum(row) for row in kept)
    assert all(kept[place, place] for place in range(15)), "the diagonal stays"


def test_only_where_they_are_named(network: nn.Sequential) -> None:
    assert all(QUANTITIES[name].asked for name in NAMES)
    assert measure(network, DATA, MeasureOptions(samples=2)).layers[0].kept_share is None
    with pytest.raises(PactError, match="prune_scale: must be a finite number > 0"):
        MeasureOptions(prune_scale=0.0)


def test_equal_weights_have_no_share(network: nn.Sequential) -> None:
    with torch.no_grad():
        network[0].weight.fill_(1.0)  # type: ignore[operator]
    assert measure(network, DATA, MeasureOptions(only=("kept_share",))).layers[0].kept_share is None
