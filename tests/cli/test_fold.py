"""compress --fold: batch norm leaves the file, and the file still opens and verifies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netpact.cli.app import run

OWN = """
import netpact
from torch import nn

def small():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.BatchNorm1d(12), nn.Tanh(), nn.Linear(12, 10))

DATA = netpact.load_data("digits")  # while a module is made, no file may be read

def folded():
    return netpact.fold_batch_norm(small(), DATA)
"""


@pytest.mark.parametrize(
    ("model", "opened"),
    [
        ("resnet:8-2-1", ""),
        ("my_folded_models:small", "my_folded_models:small"),
        ("my_folded_models:small", "my_folded_models:folded"),
    ],
)
def test_a_folded_network_goes_the_whole_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], model: str, opened: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_folded_models.py").write_text(OWN)
    assert run(["train", model, "--data", "digits", "--epochs", "1", "--out", "w.safetensors"]) == 0
    options = [model, "--weights", "w.safetensors", "--data", "digits"]
    assert run(["compress", *options, "--out", "as_trained.pact"]) == 0
    assert run(["compress", *options, "--fold", "--out", "folded.pact"]) == 0
    assert (tmp_path / "folded.pact").stat().st_size <= (tmp_path / "as_trained.pact").stat().st_size
    opening = ["--data", "digits", *(["--model", opened] if opened else [])]
    assert run(["certify", "folded.pact", *opening]) == 0
    capsys.readouterr()
    assert run(["verify", "folded.pact", *opening, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["agreed"] is True
    assert run(["info", "folded.pact", *opening[2:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rewrites"] == (["layer 3: fold(back=1)"] if opened else [])
    assert run(["info", "folded.pact", *opening[2:]]) == 0
    assert ("layer 3: fold(back=1)" in capsys.readouterr().err) == bool(opened)
