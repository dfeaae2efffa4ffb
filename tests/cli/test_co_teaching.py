"""netpact train --co-teaching: both networks are written, and wrong options are refused before any work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from netpact.cli.app import run
from netpact.core.seed import Seed
from netpact.datasets import load_data
from netpact.models import build, initialise, load_model, parse_model
from netpact.training import CoTeaching, TrainOptions, co_train

DATA = "digits:pair-0.45-clean-test"


def command(folder: Path, *more: str) -> list[str]:
    start = ["train", "cp-resnet:8-2-60-1", "--data", DATA, "--epochs", "2", "--seed", "3"]
    return [*start, "--out", str(folder / "first.safetensors"), *more]


def test_both_networks_are_those_of_the_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "second.safetensors"
    assert run(command(tmp_path, "--co-teaching", "0.45", "--co-gradual", "2", "--co-out", str(other), "--json")) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["second"] == str(other)
    assert record["co_teaching"] == {"forget_rate": 0.45, "gradual": 2, "exponent": 1.0}
    data = load_data(DATA)
    pair = [build(parse_model("cp-resnet:8-2-60-1", input_shape=(1, 8, 8), classes=10)) for _ in range(2)]
    initialise(pair[0], Seed(3).child("start"))
    initialise(pair[1], Seed(3).child("start", "second"))
    options = TrainOptions(epochs=2, seed=Seed(3).child("training"))
    wanted = co_train((pair[0], pair[1]), data.train, CoTeaching(0.45, gradual=2), options)
    for module, path in zip(wanted.modules, (tmp_path / "first.safetensors", other), strict=True):
        found = load_model(path).state_dict()
        assert all(torch.equal(found[name], tensor) for name, tensor in module.state_dict().items())


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--co-out", "x.safetensors"], "only co-teaching has a second network"),
        (["--co-teaching", "1.5"], "forget_rate"),
        (["--co-teaching", "0.2", "--helper-percent", "20"], "one network"),
        (["--co-teaching", "0.2", "--co-out", "x.txt"], "safetensors"),
    ],
)
def test_wrong_options_are_refused(
    more: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command(tmp_path, *more)) != 0
    assert told in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_one_file_for_both_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = str(tmp_path / "first.safetensors")
    assert run(command(tmp_path, "--co-teaching", "0.2", "--co-out", same)) != 0
    assert "both networks would go to one file" in " ".join(capsys.readouterr().err.split())
