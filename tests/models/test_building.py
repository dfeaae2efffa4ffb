from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.models import Architecture, build, initialise

ARCHITECTURES = [
    Architecture(1, (), (4,), 3),
    Architecture(2, (5, 4), (6,), 3),
    Architecture(3, (), (1, 28, 28), 10),
    Architecture(4, (4, 6), (2, 8, 8), 3),
]


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=str)
def test_build_leaves_the_global_random_state_and_settings(architecture: Architecture) -> None:
    before = torch.random.get_rng_state()
    torch.set_default_dtype(torch.float64)
    try:
        module = build(architecture)
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(p.dtype == torch.float32 and p.device.type == "cpu" and p.requires_grad for p in module.parameters())
    assert not module.training


def test_only_plain_torch_layers() -> None:
    for architecture in ARCHITECTURES:
        assert all(type(part).__module__.startswith("torch.nn.") for part in build(architecture).modules())
        assert not any("Adaptive" in type(part).__name__ for part in build(architecture).modules())


def test_one_seed_one_network() -> None:
    architecture = ARCHITECTURES[3]
    first, again, other = build(architecture), build(architecture), build(architecture, seed=Seed(5))
    pairs = list(zip(first.parameters(), again.parameters(), other.parameters(), strict=True))
    assert all(torch.equal(a, b) and not torch.equal(a, c) for a, b, c in pairs)
    initialise(again, Seed(5))
    assert all(torch.equal(b, c) for b, c in zip(again.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("kind", [lambda: nn.Linear(50, 400), lambda: nn.Conv2d(4, 64, 5), lambda: nn.Conv1d(9, 99, 3)])
def test_initial_weights_are_spread_as_torch_does(kind: Callable[[], nn.Module]) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        layer = kind()
    theirs = {name: parameter.detach().clone() for name, parameter in layer.named_parameters()}
    initialise(layer, Seed(3))
    bound = 1 / math.sqrt(theirs["weight"][0].numel())
    for name, parameter in layer.named_parameters():
        ours = parameter.detach()
        assert 0.9 * bound < ours.abs().max() <= bound * (1 + 1e-6)
        assert 0.9 * bound < theirs[name].abs().max() <= bound * (1 + 1e-6)
        assert not torch.equal(ours, theirs[name])
    weight = layer.get_parameter("weight").detach()
    assert float(weight.std()) == pytest.approx(float(theirs["weight"].std()), rel=0.03)
    assert abs(float(weight.mean())) < 0.05 * bound


def test_norm_layers_start_neutral() -> None:
    module = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.GroupNorm(1, 3))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.fill_(7.0)
        module.get_buffer("1.running_mean").fill_(7.0)
    initialise(module, Seed(0))
    for name in ("1", "2"):
        assert torch.equal(module.get_parameter(f"{name}.weight"), torch.ones(3))
        assert torch.equal(module.get_parameter(f"{name}.bias"), torch.zeros(3))
    assert torch.equal(module.get_buffer("1.running_mean"), torch.zeros(3))


def test_layers_without_a_rule_are_all_named_and_nothing_is_drawn() -> None:
    module = nn.Sequential(nn.Linear(3, 3), nn.LSTM(3, 3), nn.PReLU())
    before = module.get_parameter("0.weight").detach().clone()
    with pytest.raises(PactError, match=r"1 \(LSTM\), 2 \(PReLU\)"):
        initialise(module, Seed(0))
    assert torch.equal(module.get_parameter("0.weight"), before)
