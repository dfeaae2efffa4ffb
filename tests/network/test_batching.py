"""How many samples run at once: few of a large network, and never more than memory allows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from network.rounding_nets import make_inputs, make_net
from torch import Tensor, nn

from netpact.datasets import ArraySamples
from netpact.deviations import deviation_bound
from netpact.models import build, parse_model
from netpact.network import ToleranceRun, count_errors, trace
from netpact.network.rounding import batching
from netpact.network.rounding.batching import samples_at_once
from netpact.pacts.originals.box import make_box
from netpact.pacts.originals.box_counting import walk_box
from netpact.pacts.verification.recount import count_anew


class Sizes(nn.Module):
    """Passes its input on and remembers the sizes of the batches."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[int] = []

    def __deepcopy__(self, memo: object) -> Sizes:
        return self

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(x.shape[0])
        return x.clone()


def wide_net(sizes: Sizes) -> nn.Module:
    """The largest tensor is the written-out windows of the second layer: 8 * 9 for each of 36 places."""
    layers = (nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 2, 3, padding=1), nn.Flatten(), nn.Linear(72, 3))
    return nn.Sequential(sizes, *layers)


@pytest.mark.parametrize(("entries", "samples"), [(72 * 36, 1), (5 * 72 * 36, 5), (6 * 72 * 36 - 1, 5), (1, 1)])
def test_the_windows_of_a_convolution_are_counted(entries: int, samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "_ENTRIES", entries)
    assert samples_at_once(wide_net(Sizes()).double(), (1, 6, 6)) == samples


def test_without_convolutions_the_largest_tensor_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "_ENTRIES", 1000)
    assert samples_at_once(nn.Sequential(nn.Linear(3, 100), nn.Linear(100, 2)).double(), (3,)) == 10


@pytest.mark.parametrize("way", ["certify", "verify", "at once", "deviation", "box"])
def test_never_more_are_run(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "_ENTRIES", 4 * 72 * 36)
    sizes = Sizes()
    images = np.random.default_rng(0).random((11, 1, 6, 6)).astype(np.float32)
    samples = ArraySamples(images, np.arange(11) % 3, "eleven", 3)
    if way == "certify":
        assert count_errors(wide_net(sizes), samples, arithmetic="float32").samples == 11
    elif way == "verify":
        assert count_anew(wide_net(sizes), samples, "float32")[1] == 11
    elif way == "at once":
        assert len(ToleranceRun(wide_net(sizes), "float32")(images).values) == 11
    elif way == "deviation":
        network = trace(wide_net(sizes), samples)
        sizes.seen.clear()  # of tracing
        assert len(deviation_bound(network, network.module, samples).bounds) == 11
    else:
        module = wide_net(sizes)
        box = make_box(module, module)
        walked = walk_box(module, box, samples, arithmetic="float32", batch=256, progress=None)
        assert sum(len(labels) for _, labels in walked) == 11
    assert max(sizes.seen) == 4


@pytest.mark.parametrize("name", ["conv", "residual"])
def test_parts_give_what_the_whole_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, inputs = make_net(name), make_inputs(name, scale=1.0, count=15)
    whole = ToleranceRun(module, "float32")(inputs)
    monkeypatch.setattr(batching, "_ENTRIES", 1)
    parts = ToleranceRun(module, "float32")(inputs)
    assert torch.allclose(parts.values, whole.values, rtol=1e-12, atol=1e-12)
    assert torch.allclose(parts.spread, whole.spread, rtol=1e-9, atol=0)


def test_a_wide_residual_network_runs_a_few_samples_at_once() -> None:
    """WRN-10-10 has the widths of WRN-28-10: 160 * 9 windows at 1,024 places are 11.8 MB for each sample."""
    module = build(parse_model("wrn:10-10-2", input_shape=(3, 32, 32), classes=10)).double()
    assert samples_at_once(module, (3, 32, 32)) == 11
