from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples
from netpact.models import build, parse_model
from netpact.training import error_rate


def logits(rows: list[list[float]], labels: list[int]) -> ArraySamples:
    """Samples for the network that returns its input."""
    return ArraySamples(np.array(rows, dtype=np.float32), np.array(labels), "rows", len(rows[0]))


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-2, 2), st.integers(0, 2)), min_size=1))
@settings(deadline=None)
def test_ties_are_errors(rows: list[tuple[int, int, int, int]]) -> None:
    samples = logits([[float(x) for x in row[:3]] for row in rows], [row[3] for row in rows])
    wrong = sum(any(row[j] >= row[row[3]] for j in range(3) if j != row[3]) for row in rows)
    assert error_rate(nn.Identity(), samples) == (wrong, len(rows))


def test_many_batches_are_added_up() -> None:
    labels = np.arange(5000) % 4
    values = np.eye(4, dtype=np.float32)[labels]
    values[::7] = 0
    assert error_rate(nn.Identity(), ArraySamples(values, labels, "many", 4)) == (715, 5000)


class Breaks(nn.Module):
    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.where(x == 7, self.value, x)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_bad_outputs_are_told_with_the_sample(value: float) -> None:
    rows = [[0.0, 1.0]] * 2000
    rows[1500] = [7.0, 1.0]
    with pytest.raises(PactError, match="rows, sample 1500: the network's output is NaN or infinite"):
        error_rate(Breaks(value), logits(rows, [1] * 2000))


def test_modes_are_put_back_even_after_an_error() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout(0.9))
    module[1].eval()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    state = torch.random.get_rng_state()
    samples = logits([[0.0, 1.0], [1.0, 0.0]] * 10, [1, 0] * 10)
    first = error_rate(module, samples)
    assert first == error_rate(module.eval(), samples)
    module.train()
    module[1].eval()
    with pytest.raises(PactError, match="network failed"):
        error_rate(module, logits([[0.0, 1.0, 2.0]], [1]))
    assert [part.training for part in module.modules()] == [True, True, False, True]
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())
    assert torch.equal(torch.random.get_rng_state(), state)


class Pair(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x, x


def test_outputs_of_a_wrong_kind() -> None:
    with pytest.raises(PactError, match=r"output must have shape \(1, 2\), got tuple"):
        error_rate(Pair(), logits([[0.0, 1.0]], [1]))
    with pytest.raises(PactError, match=r"output must have shape \(1, 2\), got \(1, 2, 1\)"):
        error_rate(nn.Unflatten(1, (2, 1)), logits([[0.0, 1.0]], [1]))
    with pytest.raises(PactError, match=r"float32: weight is torch.float16"):
        error_rate(nn.Linear(2, 2).half(), logits([[0.0, 1.0]], [1]))


@pytest.mark.parametrize(("model", "arranged"), [("cp-vgg:11-2-50-1", True), ("vgg:11-2-1", False)])
def test_cp_networks_of_ours_run_as_channels_last(model: str, arranged: bool) -> None:
    module = build(parse_model(model, input_shape=(1, 32, 32), classes=3)).eval()
    samples = ArraySamples(
        np.random.default_rng(0).random((4, 1, 32, 32), dtype=np.float32), np.zeros(4, dtype=np.int64), "noise", 3
    )
    seen: list[torch.Tensor] = []
    convolution = next(part for part in module.modules() if isinstance(part, nn.Conv2d) and part.out_channels > 1)
    convolution.register_forward_hook(lambda part, given, out: seen.append(out))
    error_rate(module, samples)
    assert seen[0].is_contiguous(memory_format=torch.channels_last) == arranged


def test_a_network_that_needs_contiguous_images_gets_them() -> None:
    """A view of channels_last images raises an error; only our own code is known not to call it."""

    class Views(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.depthwise = nn.Conv2d(2, 2, 1, groups=2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.depthwise(x).view(len(x), -1)

    samples = ArraySamples(np.ones((2, 2, 3, 3), dtype=np.float32), np.zeros(2, dtype=np.int64), "ones", 18)
    assert error_rate(Views(), samples)[1] == 2
