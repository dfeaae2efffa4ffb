"""A certificate shown for a network that it is not about.

Tried: a file of another architecture beside a network's estimates, a file with a certificate that does not verify, a
file of the same architecture with other weights, and the demonstration's page, which took the best file of all for the
network that it explains (tests/cli/test_demo.py). What is proven is about the network in the file, and the page and the
table say so.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import netpact
from netpact.cli.app import run
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.reports.beside import certificate_beside


def train(name: str, data: Data, *, seed: int = 0) -> netpact.Network:
    start = netpact.build(netpact.parse_model(name, input_shape=data.input_shape, classes=data.classes))
    options = netpact.TrainOptions(epochs=4, learning_rate=0.01, seed=netpact.Seed(seed))
    return netpact.trace(netpact.train(start, data.train, options).module, data)


def certify(network: netpact.Network, data: Data, path: Path) -> Path:
    pact = netpact.seal(netpact.compress(network, netpact.Quantize(bits=4)))
    return netpact.certify(pact, data).write(path)


@pytest.fixture(scope="module")
def digits() -> Data:
    return netpact.load_data("digits")


@pytest.fixture(scope="module")
def network(digits: Data) -> netpact.Network:
    return train("mlp:12", digits)


def test_a_file_of_another_architecture_is_refused(
    network: netpact.Network, digits: Data, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = certify(train("linear", digits), digits, tmp_path / "other.pact")
    with pytest.raises(PactError, match="it holds another network: linear, not mlp:12"):
        certificate_beside(other, network, digits)
    weights = netpact.save_weights(network.module, tmp_path / "mlp.safetensors")
    line = ["bounds", "mlp:12", "--weights", str(weights), "--data", "digits", "--only", "vc", "--pact", str(other)]
    assert run([*line, "--json"]) == 2
    assert "another network" in json.loads(capsys.readouterr().out)["error"]


def test_a_false_certificate_is_refused(network: netpact.Network, digits: Data, tmp_path: Path) -> None:
    path = certify(network, digits, tmp_path / "lie.pact")
    pact = netpact.Pact.read(path)
    assert pact.certificate is not None
    pact.with_certificate(replace(pact.certificate, bound=pact.certificate.bound / 2)).write(path)
    with pytest.raises(PactError, match="its certificate is not agreed to: refused: the exact bound is"):
        certificate_beside(path, network, digits)


def test_the_same_architecture_with_other_weights_is_told_from_this_network(
    network: netpact.Network, digits: Data, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = certificate_beside(certify(network, digits, tmp_path / "own.pact"), network, digits)
    other = certificate_beside(certify(train("mlp:12", digits, seed=1), digits, tmp_path / "b.pact"), network, digits)
    shares = [float(row.about.rpartition("on ")[2].partition(" %")[0]) for row in (own, other)]
    assert shares[0] > shares[1]
    weights = netpact.save_weights(network.module, tmp_path / "mlp.safetensors")
    line = ["bounds", "mlp:12", "--weights", str(weights), "--data", "digits", "--only", "vc"]
    page = tmp_path / "page.html"
    assert run([*line, "--pact", str(tmp_path / "own.pact"), "--page", str(page), "--json"]) == 0
    captured = capsys.readouterr()
    told = f"the network in own.pact, which agrees with mlp:12 on {shares[0]:.1f} % of the training samples"
    assert any(record.get("about") == told for record in json.loads(captured.out))
    assert "proven for the network in" in " ".join(captured.err.split())
    assert f"about {told}" in page.read_text()
