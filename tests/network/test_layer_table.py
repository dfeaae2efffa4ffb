from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netpact.layers import ChannelAffine
from netpact.models import build, parse_model
from netpact.network import trace
from netpact.network.layer_table import LayerTable, describe_layers


def samples(*shape: int, classes: int = 3) -> tuple[object, object]:
    images = np.linspace(0, 1, 2 * math.prod(shape), dtype=np.float32).reshape(2, *shape)
    return images, np.array([0, classes - 1])


def describe(module: nn.Module, *shape: int) -> LayerTable:
    return describe_layers(module, samples(*shape))


class Twice(nn.Module):
    """The convolution runs twice, under two names, before the layer that was defined first."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(2 * 6 * 6, 3)
        self.conv = nn.Conv2d(2, 2, 3, padding=1)
        self.again = self.conv

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.again(self.conv(x).relu()).flatten(1))
        return out


class Recurrent(nn.Module):
    """Two things in the way at least: an LSTM, and a parameter of its own beside its layers."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Parameter(torch.ones(6, 6))
        self.lstm = nn.LSTM(8, 6, batch_first=True)
        self.head = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.lstm(x[:, 0])[0][:, -1] @ self.mix)
        return out


def test_operations_are_those_of_the_hand_formulas() -> None:
    module = nn.Sequential(
        nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.Conv2d(6, 5, (1, 3)),
        ChannelAffine(5),
        nn.Flatten(),
        nn.Linear(5 * 5 * 2, 3),
    )
    table = describe(module, 4, 9, 8)
    # 2 * outputs * taps * input channels of a group; the images are 5 x 4, then 5 x 2
    expected = [2 * (6 * 5 * 4) * 9 * 2, 0, 2 * (5 * 5 * 2) * 3 * 6, 2 * 5 * 5 * 2, 2 * 50 * 3]
    assert [row.flops for row in table.rows] == expected
    assert table.flops == sum(expected)
    assert [row.kind for row in table.rows] == ["conv2d", "batch_norm", "conv2d", "channel_affine", "linear"]
    assert [row.shape for row in table.rows] == [(6, 2, 3, 3), (6,), (5, 6, 1, 3), (5,), (3, 50)]
    assert [row.parameters for row in table.rows] == [114, 12, 95, 10, 153]
    assert table.parameters == 114 + 12 + 95 + 10 + 153
    assert table.problems == ()


def test_a_module_that_runs_twice_counts_twice() -> None:
    table = describe(Twice(), 2, 6, 6)
    once = 2 * (2 * 6 * 6) * 9 * 2
    assert [(row.name, row.flops) for row in table.rows] == [("conv", 2 * once), ("head", 2 * 72 * 3)]
    assert table.flops == 2 * once + 2 * 72 * 3
    assert table.parameters == sum(row.parameters for row in table.rows)


def test_norms_by_hand() -> None:
    first, norm, scale, last = nn.Conv2d(1, 2, 1, bias=False), nn.BatchNorm2d(2), ChannelAffine(2), nn.Linear(18, 3)
    with torch.no_grad():
        first.weight.copy_(torch.tensor([3.0, 4.0]).view(2, 1, 1, 1))
        norm.weight.copy_(torch.tensor([1.0, -6.0]))
        norm.running_var.copy_(torch.tensor([9.0, 4.0]))  # type: ignore[union-attr]
        norm.eps = 0.0
        scale.weight.copy_(torch.tensor([0.5, -2.0]))
        last.weight.zero_()
        last.weight[1, 2] = 7.0
    table = describe(nn.Sequential(first, norm, scale, nn.Flatten(), last), 1, 3, 3)
    for row, value in zip(table.rows, [5.0, 3.0, 2.0, 7.0], strict=True):
        assert row.spectral_lower is not None
        assert row.spectral_upper is not None
        assert row.spectral_lower <= value <= row.spectral_upper
        assert row.spectral_lower == pytest.approx(value, rel=1e-6)
        assert row.spectral_upper == pytest.approx(value, rel=1e-6)


def test_the_lower_bound_is_for_the_image_that_the_layer_receives() -> None:
    """A 3 x 3 kernel of ones on an image of one pixel: only its middle is ever used."""
    blur = nn.Conv2d(1, 1, 3, padding=1, bias=False)
    nn.init.ones_(blur.weight)
    (row, _) = describe(nn.Sequential(blur, nn.Flatten(), nn.Linear(1, 3)), 1, 1, 1).rows
    assert row.spectral_lower == pytest.approx(1.0)
    assert row.spectral_upper is not None
    assert row.spectral_upper >= 9.0


@pytest.mark.parametrize("name", ["mlp:6", "resnet:8-2-1", "wrn:10-1-2", "densenet:7-2-1"])
def test_rows_are_the_layers_of_the_traced_network(name: str) -> None:
    module, data = build(parse_model(name, input_shape=(1, 8, 8), classes=3)), samples(1, 8, 8)
    table, layers = describe_layers(module, data), trace(module, data).layers
    assert [(r.index, r.name, r.kind, r.shape, r.parameters) for r in table.rows] == [
        (layer.index, layer.name, layer.kind, layer.shape, layer.parameters) for layer in layers
    ]
    assert table.flops == sum(row.flops or 0 for row in table.rows) > 0
    for row in table.rows:
        assert row.spectral_lower is not None
        assert row.spectral_upper is not None
        assert 0 < row.spectral_lower <= row.spectral_upper


def test_a_network_without_rounding_rules_is_described_too() -> None:
    table = describe(Recurrent(), 1, 5, 8)
    assert not table.problems
    assert "lstm" in table.unruled
    rows = {row.name: row for row in table.rows}
    assert [row.name for row in table.rows] == ["", "lstm", "head"]
    assert rows[""].flops == 2 * 6 * 6, "what the layers inside cost is not its own"
    assert rows["head"].flops == 2 * 6 * 3
    assert rows["lstm"].flops is None, "the counter does not see into an LSTM"
    assert table.flops is None, "so a total would be too small"
    assert (rows["lstm"].kind, rows["lstm"].shape, rows["lstm"].spectral_upper) == ("LSTM", (), None)
    assert rows["head"].spectral_upper is not None
    assert table.parameters == 36 + rows["lstm"].parameters + 21


def test_a_network_that_does_not_run_is_listed_without_operations() -> None:
    module = nn.Sequential(nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Linear(5, 3))
    table = describe(module, 1, 4, 4)
    assert [problem.startswith("it does not run on inputs of shape (1, 4, 4)") for problem in table.problems] == [True]
    assert [(row.name, row.flops) for row in table.rows] == [("0", None), ("2", None)]
    assert table.flops is None
    convolution = table.rows[0]
    assert convolution.spectral_lower is None, "no image size is known for it"
    assert convolution.spectral_upper is not None


def test_weights_that_are_no_numbers_have_no_norm() -> None:
    spoiled, norm = nn.Linear(4, 4), nn.BatchNorm1d(4, track_running_stats=False)
    with torch.no_grad():
        spoiled.weight[0, 0] = math.nan
    table = describe(nn.Sequential(nn.Flatten(), spoiled, norm, nn.Linear(4, 3)), 1, 2, 2)
    assert any("1 (Linear): weight holds NaN" in problem for problem in table.problems)
    bounds = [(row.spectral_lower, row.spectral_upper) for row in table.rows]
    assert bounds[:2] == [(None, None), (None, None)]
    assert bounds[2][1] is not None


def test_the_module_is_left_as_it_was() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.Dropout()).train()
    seen: list[tuple[int, int]] = []
    describe_layers(module, samples(1, 2, 2), progress=lambda done, total: seen.append((done, total)))
    assert module.training
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())
    assert seen == [(1, 1)]
