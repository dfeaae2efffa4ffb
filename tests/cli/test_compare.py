"""netpact compare from the command line: a network by name, and one of the user's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netpact.cli.app import run
from netpact.models import build, parse_model, save_weights

OWN = """
from torch import nn

def make():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 6), nn.ReLU(), nn.Linear(6, 10))
"""


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return save_weights(build(parse_model("linear", input_shape=(1, 8, 8), classes=10)), tmp_path / "w.safetensors")


def test_methods_sizes_and_places(weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, drawn = tmp_path / "out", tmp_path / "drawn"
    command = ["compare", "linear", "--weights", str(weights), "--data", "digits", "--out", str(out)]
    chosen = ["--methods", "quantize,vector-compress", "--sizes", "1", "--samples", "50", "--certified", "1"]
    assert run([*command, *chosen, "--engine", "inline", "--figures", str(drawn), "--json"]) == 0
    said = capsys.readouterr()
    record = json.loads(said.out)
    assert {row["method"] for row in record["rows"][1:]} == {"quantize", "vector-compress"}
    assert all(row["counted"] == 50 for row in record["rows"] if row["bound"] is None)
    assert sum(row["agreed"] is True for row in record["rows"]) == 1
    assert "files to make" in said.err
    assert "Recommended" in said.err
    assert (out / "index.html").is_file()
    assert (drawn / "error-against-size.svg").is_file()
    page = (out / "index.html").read_text()
    assert "measured on 50 samples of each set" in page


def test_a_module_of_the_user_s_own_in_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_compared_net.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    command = ["compare", "my_compared_net:make", "--data", "digits", "--out", "out", "--methods", "sketch"]
    assert run([*command, "--sizes", "2", "--certified", "0", "--jobs", "1", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [row["method"] for row in record["rows"][1:]] == ["sketch", "sketch"]
    assert record["recommendation"][-1]["goal"] == "fresh samples"


def test_a_name_that_is_no_method(weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compare", "linear", "--weights", str(weights), "--data", "digits", "--out", str(tmp_path / "out")]
    assert run([*command, "--methods", "quantise"]) != 0
    assert "quantize" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
