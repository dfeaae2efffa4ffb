"""netpact train --lottery: the library's ticket, whose zeros a compressed file keeps and another process verifies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import netpact
from netpact.cli.app import run
from netpact.core.seed import Seed
from netpact.datasets import load_data
from netpact.models import build, initialise, load_model, parse_model
from netpact.training import IterativePruning, TrainOptions, iterative_pruning


def command(folder: Path, *more: str) -> list[str]:
    start = ["train", "mlp:16", "--data", "digits", "--epochs", "3", "--learning-rate", "0.01", "--seed", "3"]
    return [*start, "--out", str(folder / "ticket.safetensors"), *more]


def test_it_is_the_ticket_of_the_library_and_its_zeros_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights, file = tmp_path / "ticket.safetensors", tmp_path / "ticket.pact"
    more = ["--lottery", "0.1", "--lottery-rate", "0.6", "--lottery-rewind-to", "1", "--lottery-control"]
    assert run(command(tmp_path, *more, "--checkpoint", str(tmp_path / "ticket.checkpoint"), "--json")) == 0
    shown = capsys.readouterr()
    record = json.loads(shown.out)
    assert "round 3: 9.97 % of 1,184 weights" in " ".join(shown.err.split())

    data = load_data("digits")
    start = build(parse_model("mlp:16", input_shape=data.input_shape, classes=10))
    initialise(start, Seed(3).child("start"))
    options = TrainOptions(epochs=3, learning_rate=0.01, seed=Seed(3).child("training"))
    asked = IterativePruning(keep=0.1, rate=0.6, rewind_to=1, control=True)
    wanted = iterative_pruning(start, data.train, asked, options)
    found = load_model(weights).state_dict()
    assert all(torch.equal(found[name], tensor) for name, tensor in wanted.module.state_dict().items())
    assert record["pruning"] == asked.to_json()
    assert [one["kept"] for one in record["rounds"]] == [one.kept for one in wanted.rounds]

    compressed = ["compress", "mlp:16", "--weights", str(weights), "--data", "digits", "--out", str(file)]
    assert run([*compressed, "--method", "quantize", "--set", "bits=4"]) == 0
    assert run(["certify", str(file), "--data", "digits"]) == 0
    decoded = netpact.Pact.read(file).to_module()
    for name, mask in wanted.masks.items():
        assert not bool(decoded.get_parameter(name)[~mask].any())
        assert bool(decoded.get_parameter(name)[mask].any())
    capsys.readouterr()
    fresh = subprocess.run(
        [sys.executable, "-m", "netpact", "verify", str(file), "--data", "digits", "--json"],
        env={**os.environ, "PYTHONPATH": str(Path(netpact.__file__).parents[1]), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(fresh.stdout)["agreed"] is True


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--lottery", "1.5"], "keep: must be a finite number > 0 and < 1"),
        (["--lottery", "0.1", "--lottery-scope", "network"], "scope"),
        (["--lottery", "0.1", "--lottery-rewind-to", "3"], "rewind_to: must be below the number of epochs, 3"),
        (["--lottery", "0.1", "--helper-percent", "20"], "goes neither with --helper-percent nor with --co-teaching"),
        (["--lottery", "0.1", "--co-teaching", "0.2"], "goes neither with --helper-percent nor with --co-teaching"),
        (["--lottery-rewind-to", "2"], "--lottery-rewind-to: only lottery tickets have it"),
        (["--lottery-control"], "--lottery-control: only lottery tickets have it"),
    ],
)
def test_wrong_options_are_refused(
    more: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command(tmp_path, *more)) != 0
    assert told in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())
