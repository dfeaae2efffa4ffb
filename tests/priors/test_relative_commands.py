"""Transfer and helpers from the command line: made, shown, certified, verified; clear words when a base is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from priors.conftest import Case

from netpact.cli.app import run
from netpact.coding.format import Pact
from netpact.models import build, parse_model, save_weights
from netpact.pacts.priors import open_base, save_helper


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert run([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two data sets without a common sample, and networks trained on the first."""
    from netpact.datasets import load_data

    folder = tmp_path_factory.mktemp("halves")
    digits = load_data("digits").train
    x, y = next(iter(digits.batches(digits.count)))
    for name, part in (("first", slice(900)), ("second", slice(900, None))):
        np.savez(folder / f"{name}.npz", x_train=x[part], y_train=y[part])
    train = ["train", "linear", "--epochs", "15", "--learning-rate", "0.02", "--data", str(folder / "first.npz")]
    assert run([*train, "--out", str(folder / "base.safetensors")]) == 0
    assert run([*train, "--seed", "5", "--out", str(folder / "other.safetensors")]) == 0
    return folder


def test_transfer_from_end_to_end(halves: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, further = str(tmp_path / "net.pact"), str(tmp_path / "further.safetensors")
    data = ["--data", str(halves / "second.npz")]
    base = ["--base", str(halves / "base.safetensors")]
    start = ["--weights", str(halves / "base.safetensors"), "--epochs", "1", "--learning-rate", "0.001"]
    assert run(["train", "linear", *data, *start, "--out", further]) == 0
    made = run_json(
        capsys,
        *("compress", "linear", "--weights", further, *data, *base, "--set", "bits=2", "--out", file),
        *("--base-data", str(halves / "first.npz")),
    )
    assert made["method"] == "QuantizeDifference(base='base', bits=2)"
    shown = run_json(capsys, "info", file)["relative"]
    assert (shown["split"], shown["stated_sha256"], shown["base_sha256"]) == (None, None, None)
    assert shown["changed_weights"] > 0
    assert run(["certify", file, *data, *base, "--base-data", str(halves / "first.npz")]) == 0
    record = run_json(capsys, "verify", file, *data, *base)
    assert (record["agreed"], record["prior"], record["given"]) == (True, "transfer", "")
    assert record["message_bytes"] < 150
    assert run(["info", file, *base]) == 0
    assert "encoded against a base network trained on other data" in capsys.readouterr().err
    # Another base, none, and one where none is wanted.
    other = ["--base", str(halves / "other.safetensors")]
    assert "another network" in run_json(capsys, "info", file, *other, code=2)["error"]
    assert "sha256" in run_json(capsys, "verify", file, *data, *other, code=1)["reasons"][0]
    assert "--base FILE" in run_json(capsys, "verify", file, *data, code=2)["hint"]
    assert "only a data-dependent" in run_json(capsys, "verify", file, *data, "--retrain", code=2)["hint"]


def test_a_base_pact_file_serves_too(halves: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights, ground = str(halves / "base.safetensors"), str(tmp_path / "ground.pact")
    first, second = str(halves / "first.npz"), str(halves / "second.npz")
    compress = ["compress", "linear", "--weights", weights]
    assert run([*compress, "--data", first, "--set", "bits=8", "--out", ground]) == 0
    assert run(["certify", ground, "--data", first]) == 0
    file = str(tmp_path / "net.pact")
    assert run([*compress, "--data", second, "--base", ground, "--out", file]) == 0
    assert run(["certify", file, "--data", second, "--base", ground]) == 0
    assert run_json(capsys, "verify", file, "--data", second, "--base", ground)["prior"] == "transfer"
    error = run_json(capsys, *compress, "--data", first, "--base", ground, "--out", file + "2", code=2)
    assert "trained on the data" in error["error"]
    assert not Path(file + "2").exists()
    assert "not encoded against" in run_json(capsys, "info", ground, "--base", weights, code=2)["error"]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--method", "quantize-difference"], "--base FILE"),
        (["--method", "quantize", "--base", "base.safetensors"], "methods that have one: quantize-difference"),
        (["--base", "nowhere.safetensors"], "nowhere.safetensors"),
        (["--base", "base.bin"], ".safetensors, .pt, .pth, .pact"),
        (["--base", "base.safetensors", "--set", "base=x"], "allowed: bits"),
        (["--base", "base.safetensors", "--base-data", "second.npz"], "trained on the data of this certificate"),
        (["--base", "mlp.safetensors"], "fc1.weight"),
    ],
)
def test_bases_that_do_not_serve(
    halves: Path,
    arguments: list[str],
    part: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(halves)
    save_weights(build(parse_model("mlp", input_shape=(1, 8, 8), classes=10)), halves / "mlp.safetensors")
    out = str(tmp_path / "x.pact")
    fixed = ["compress", "linear", "--weights", "base.safetensors", "--data", "second.npz", "--out", out]
    error = run_json(capsys, *fixed, *arguments, code=2)
    assert part in " ".join(error.values())
    assert not Path(out).exists()


def test_a_helper_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    helper, file = str(tmp_path / "half.safetensors"), str(tmp_path / "net.pact")
    train = ["train", "linear", "--data", "digits", "--epochs", "8", "--learning-rate", "0.02", "--out", helper]
    made = run_json(capsys, *train, "--helper-percent", "30", "--split-counter", "2")
    assert (made["samples"], made["recipe"]["split"]) == (431, {"percent": 30, "counter": 2})
    assert made["sha256"] == open_base(helper).sha256
    assert run(["compress", "linear", "--weights", helper, "--data", "digits", "--base", helper, "--out", file]) == 0
    assert Pact.read(file).decode().split is not None
    assert run(["certify", file, "--data", "digits", "--base", helper]) == 0
    assert "does NOT beat it" in capsys.readouterr().err.replace("\n", " ")
    record = run_json(capsys, "verify", file, "--data", "digits", "--base", helper)
    assert (record["prior"], record["samples"], record["given"]) == ("data-dependent", 1006, "given the stated helper")
    assert record["helper"]["bound"] < record["bound"]
    again = run_json(capsys, "verify", file, "--data", "digits", "--retrain")
    assert again["given"] == "with the helper trained again, bit for bit the stated one"
    assert run(["info", file, "--base", helper]) == 0
    assert "a helper network that has seen 30 % by counter 2; 0 weights differ" in capsys.readouterr().err
    assert "--retrain" in run_json(capsys, "verify", file, "--data", "digits", code=2)["hint"]
    both = run_json(capsys, "verify", file, "--data", "digits", "--retrain", "--base", helper, code=2)
    assert "no base is read" in both["error"]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--split-counter", "1"], "--helper-percent"),
        (["--helper-percent", "50", "--weights", "w.safetensors"], "starts from its seed"),
        (["--helper-percent", "100"], "99"),
    ],
)
def test_helper_options_that_do_not_go_together(
    arguments: list[str], part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "w.safetensors")
    error = run_json(capsys, "train", "linear", "--data", "digits", "--out", out, *arguments, code=2)
    assert part in " ".join(error.values())


def test_another_splits_helper_is_refused(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = Pact(case.pact.message).write(tmp_path / "net.pact")
    save_helper(case.helper, case.data, tmp_path / "right.safetensors")
    wrong = str(tmp_path / "wrong.safetensors")
    train = ["train", "linear", "--data", "digits", "--epochs", "2", "--helper-percent", "40", "--out", wrong]
    assert run([*train, "--split-counter", "4"]) == 0
    error = run_json(capsys, "certify", str(file), "--data", "digits", "--base", wrong, code=2)
    assert "by counter 4, the message says 40 % by counter 3" in error["error"]
    assert Pact.read(file).certificate is None
    case.pact.write(file)
    record = run_json(capsys, "verify", str(file), "--data", "digits", "--base", wrong, code=1)
    assert "by counter 4" in record["reasons"][0]
    assert run(["verify", str(file), "--data", "digits", "--base", str(tmp_path / "right.safetensors")]) == 0
