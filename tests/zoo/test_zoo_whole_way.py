"""Networks in use, small: each is compressed, certified and written; verified from file and data alone elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from zoo.networks import ZOO, labelled, make

from netpact import Pact, Quantize, as_data, certify, compress, deviation_bound, measure, seal, trace
from netpact.measurements import MeasureOptions
from netpact.network import Network
from netpact.network.layer_table import describe_layers

SAMPLES = 16
# Operations without a rounding rule, by network: all others have one for everything they do.
UNRULED = {"LSTM": ("lstm",)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files and data of all networks, and one whose data were changed afterwards."""
    place = tmp_path_factory.mktemp("zoo")
    for number, (name, entry) in enumerate(ZOO.items()):
        inputs, labels = labelled(name, SAMPLES)
        data = as_data((inputs, labels), classes=entry.classes)
        network = trace(make(name), data, output=entry.output)
        pact = seal(compress(network, Quantize(bits=6), arithmetic=entry.arithmetic))
        certify(pact, data, model=partial(make, name), most_near_ties=1).write(place / f"{number}.pact")
        arrays = {f"x_train.{key}": part for key, part in inputs.items()} if isinstance(inputs, dict) else {}
        np.savez(place / f"{number}.npz", **(arrays or {"x_train": inputs}), y_train=labels)
    return place


def test_every_network_is_verified_from_file_and_data_in_a_fresh_process(folder: Path) -> None:
    """One process for all of them; the modules are made with other weights there."""
    tests = Path(__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-m", "zoo.running", str(folder)],
        env={**os.environ, "PYTHONPATH": str(tests), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(run.stdout) == dict.fromkeys(ZOO, True)


def test_what_was_counted(folder: Path) -> None:
    """Labels are mostly what the networks say: an error count near chance would mean that something else was run."""
    for number, (name, entry) in enumerate(ZOO.items()):
        certificate = Pact.read(folder / f"{number}.pact").certificate
        assert certificate is not None
        assert certificate.arithmetic == entry.arithmetic
        assert certificate.near_ties == 0, name
        assert certificate.errors <= SAMPLES / 3, name


def traced(name: str) -> Network:
    data = as_data(labelled(name, SAMPLES), classes=ZOO[name].classes)
    return trace(make(name), data, output=ZOO[name].output)


@pytest.mark.parametrize("name", ZOO)
def test_what_has_no_rounding_rule(name: str) -> None:
    assert traced(name).unruled == UNRULED.get(name, ())


@pytest.mark.parametrize("name", ["MobileNetV3", "ViT", "text, attention", "LSTM"])  # the others take longer
def test_they_are_described_and_measured(name: str) -> None:
    network, data = traced(name), as_data(labelled(name, SAMPLES), classes=ZOO[name].classes)
    assert not describe_layers(network.module, data).problems
    found = measure(network, data, MeasureOptions(samples=2, draws=1))
    assert found.layers
    assert bool(network.others) == any(words.startswith("left out") for words in found.warnings)


@pytest.mark.parametrize("name", [name for name in ZOO if name != "ResNet-56"])  # which takes longer
def test_deviation_bounds_name_what_has_no_rule(name: str) -> None:
    """Finite for all networks that have a rule for everything: 16 bits are close enough for their norms."""
    network, entry = traced(name), ZOO[name]
    data = as_data(labelled(name, SAMPLES), classes=entry.classes)
    found = deviation_bound(network, compress(network, Quantize(bits=16), arithmetic=entry.arithmetic), data)
    assert found.unruled == UNRULED.get(name, ())
    assert (found.measured <= found.bounds).all()
    assert np.isfinite(found.bounds).all() == (not found.unruled)
    assert ("no deviation bound" in str(found)) == bool(found.unruled)
