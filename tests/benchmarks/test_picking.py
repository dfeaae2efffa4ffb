"""Pick-to-Learn keeps the same samples on every set between those it kept and all: the premise of its bound."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import netpact
from netpact.datasets import ArraySamples
from netpact.training import error_rate


def load_picking() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "peers" / "pick_to_learn.py"
    spec = importlib.util.spec_from_file_location("peers_pick_to_learn", path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


picking = load_picking()
OPTIONS = picking.PickOptions(quota=10, steps=30, most=300, learning_rate=1e-2)


@pytest.fixture(scope="module")
def samples() -> ArraySamples:
    train = netpact.load_data("digits").train
    assert isinstance(train, ArraySamples)
    return train.take(slice(400), name="digits[:400]")


@pytest.fixture(scope="module")
def start(samples: ArraySamples):
    return netpact.build(netpact.parse_model("mlp:24", input_shape=samples.input_shape, classes=samples.classes))


def test_every_set_in_between_keeps_the_same(samples: ArraySamples, start) -> None:
    found = picking.pick_to_learn(start, samples, OPTIONS, seed=netpact.Seed(0))
    assert found.errors_left == 0
    assert 20 < len(found.kept) < 200
    others = np.setdiff1d(np.arange(samples.count), found.kept)
    for share in (0.0, 0.5):
        between = np.sort([*found.kept, *others[: int(share * len(others))]])
        again = picking.pick_to_learn(start, samples.take(between, name="between"), OPTIONS, seed=netpact.Seed(0))
        assert tuple(between[list(again.kept)]) == found.kept
        assert again.errors_left == 0


@pytest.mark.parametrize("most", [25, 60])
def test_the_errors_are_those_of_the_network_that_is_returned(samples: ArraySamples, start, most: int) -> None:
    options = picking.PickOptions(quota=10, steps=30, most=most, learning_rate=1e-2)
    found = picking.pick_to_learn(start, samples, options, seed=netpact.Seed(0))
    assert len(found.kept) == len(set(found.kept)) == most
    others = np.setdiff1d(np.arange(samples.count), found.kept)
    assert error_rate(found.module, samples.take(others, name="others")) == (found.errors_left, len(others))
    assert found.errors_left > 0
