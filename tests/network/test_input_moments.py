"""Mean squares of what weights are multiplied by, against sums over samples."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from netpact.datasets import ArraySamples
from netpact.network.input_moments import input_moments

RANDOM = np.random.default_rng(0)


def samples(*shape: int) -> ArraySamples:
    return ArraySamples(
        RANDOM.normal(size=(30, *shape)).astype(np.float32), np.arange(30, dtype=np.int64) % 3, "drawn", 3
    )


def test_linear_layers_and_one_that_runs_twice() -> None:
    first, middle = nn.Linear(5, 4), nn.Linear(4, 4)
    module = nn.Sequential(first, nn.ReLU(), middle, nn.ReLU(), middle, nn.Linear(4, 3))
    drawn = samples(5)
    found = input_moments(module, drawn)
    with torch.no_grad():
        once = first(torch.from_numpy(drawn.inputs.copy())).relu()
        twice = middle(once).relu()
    assert list(found) == ["0.weight", "2.weight", "5.weight"]
    np.testing.assert_allclose(found["0.weight"], np.square(drawn.inputs.astype(float)).mean(axis=0)[None], rtol=1e-6)
    both = (once.double().square().mean(0) + twice.double().square().mean(0)) / 2
    np.testing.assert_allclose(found["2.weight"], both.numpy()[None], rtol=1e-6)


def test_groups_of_a_convolution_read_channels_of_their_own() -> None:
    part = nn.Conv2d(6, 4, 3, groups=2)
    drawn = samples(6, 5, 5)
    found = input_moments(nn.Sequential(part, nn.Flatten()), drawn)["0.weight"]
    means = np.square(drawn.inputs.astype(float)).mean(axis=(0, 2, 3))
    assert found.shape == (4, 3, 1, 1)
    np.testing.assert_allclose(found[:, :, 0, 0], [means[:3], means[:3], means[3:], means[3:]], rtol=1e-6)
    assert np.broadcast_to(found, part.weight.shape).shape == (4, 3, 3, 3)


def test_many_samples_are_drawn_from_and_no_hook_stays() -> None:
    module = nn.Sequential(nn.Linear(5, 3))
    drawn = samples(5)
    some = input_moments(module, drawn, most=10)["0.weight"]
    assert not np.array_equal(some, input_moments(module, drawn)["0.weight"])
    assert np.array_equal(some, input_moments(module, drawn, most=10)["0.weight"])
    assert not module[0]._forward_pre_hooks
