"""The command line as a user meets it: what goes where, exit codes, errors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from cli.fresh_process import NETPACT

from netpact.cli.app import run
from netpact.methods import METHODS

VERIFY_KEYS = {
    "agreed",
    "bound",
    "kind",
    "form",
    "prior",
    "code_bits",
    "message_bytes",
    "errors",
    "samples",
    "delta",
    "train_error",
    "test_error",
    "theorem",
    "data",
}


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert run([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights and a certified file, made by the commands themselves."""
    where = tmp_path_factory.mktemp("cli")
    weights, pact = str(where / "linear.safetensors"), str(where / "linear.pact")
    assert (
        run(["train", "linear", "--data", "digits", "--epochs", "15", "--learning-rate", "0.01", "--out", weights]) == 0
    )
    assert (
        run(["compress", "linear", "--weights", weights, "--data", "digits", "--set", "grid=ternary", "--out", pact])
        == 0
    )
    assert run(["certify", pact, "--data", "digits"]) == 0
    return where


def test_verify_prints_the_agreed_record(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = run_json(capsys, "verify", str(folder / "linear.pact"), "--data", "digits")
    assert record.keys() >= VERIFY_KEYS
    assert record["agreed"] is True
    assert record["kind"] == "certificate"
    assert record["data"]["name"] == "digits"
    assert record["data"]["fingerprint"].startswith("sha256:")
    assert record["errors"] / record["samples"] == record["train_error"] < record["bound"] < 1
    assert record["message_bytes"] == json.loads(json.dumps(record))["message_bytes"]


def test_json_is_alone_on_stdout(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(folder / "linear.pact"), "--data", "digits"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "agreed: With probability at least 95 %" in captured.err


def test_test_error_is_null_without_test_data(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from netpact import load_data

    train = load_data("digits").train
    x, y = (np.concatenate(parts) for parts in zip(*train.batches(), strict=True))
    np.savez(tmp_path / "only_train.npz", x_train=x, y_train=y)
    record = run_json(capsys, "verify", str(folder / "linear.pact"), "--data", str(tmp_path / "only_train.npz"))
    assert record["agreed"] is True, "the same samples, whatever the file is called"
    assert record["test_error"] is None


def test_refused_is_exit_code_one(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from dataclasses import replace

    from netpact import Pact

    pact = Pact.read(folder / "linear.pact")
    assert pact.certificate is not None
    pact.with_certificate(replace(pact.certificate, bound=pact.certificate.bound - 0.01)).write(tmp_path / "lie.pact")
    record = run_json(capsys, "verify", str(tmp_path / "lie.pact"), "--data", "digits", code=1)
    assert record["agreed"] is False
    assert any("bound" in reason for reason in record["reasons"])


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["verify", "nowhere.pact", "--data", "digits"], "nowhere.pact"),
        (["data", "no-such-data"], "digits"),
        (["compress", "mlp", "--data", "digits", "--out", "x.pact"], "weights"),
        (["compress", "mlpp", "--data", "digits", "--out", "x.pact"], "mlp"),
        (["compress", "mlp", "--data", "digits", "--out", "x.pact", "--method", "magic"], "quantize"),
        (["compress", "mlp", "--data", "digits", "--out", "x.pact", "--set", "bits=99"], "2 to 16"),
        (["compress", "mlp", "--data", "digits", "--out", "x.pact", "--set", "bitz=3"], "density"),
        (["compress", "mlp", "--data", "digits", "--out", "x.pact", "--set", "bits"], "option=value"),
        (["train", "mlp", "--data", "digits", "--out", "w.bin"], ".safetensors"),
        (["train", "mlp", "--data", "digits", "--out", "w.safetensors", "--optimizer", "magic"], "adam"),
        (["train", "mlp", "--data", "digits"], "out"),
        (["no-such-command"], "no-such-command"),
        (["demo", "--jobs", "0"], "jobs"),
        (["demo", "--delta", "2"], "> 0 and < 1"),
    ],
)
def test_bad_input_is_a_json_record_and_exit_code_two(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    record = run_json(capsys, *arguments, code=2)
    assert record.keys() == {"error", "where", "hint"}
    assert part in " ".join(record.values())
    assert not list(tmp_path.glob("*.p*")), "nothing half-written"


def test_bad_input_for_people_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "nowhere.pact", "--data", "digits"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "error: nowhere.pact" in captured.err


def test_certify_that_fails_leaves_the_file_alone(folder: Path, tmp_path: Path) -> None:
    from netpact import Pact

    copy = tmp_path / "copy.pact"
    Pact.read(folder / "linear.pact").with_certificate(None).write(copy)
    before = copy.read_bytes()
    assert run(["certify", str(copy), "--data", "digits", "--delta", "7"]) == 2
    assert copy.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["copy.pact"]


def test_info_explains_every_bit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = run_json(capsys, "info", str(folder / "linear.pact"))
    assert record["architecture"] == "linear"
    ideal = sum(entry["bits"] for entry in record["ledger"])
    assert 0 <= 8 * record["message_bytes"] - ideal <= 0.002 * ideal + 16
    assert record["certificate"]["kind"] == "certificate"
    assert run(["info", str(folder / "linear.pact")]) == 0
    assert "stated, not checked here" in capsys.readouterr().err


def test_data_describes(capsys: pytest.CaptureFixture[str]) -> None:
    record = run_json(capsys, "data", "digits")
    assert record["train"]["count"] == 1437
    assert run(["data", "digits"]) == 0
    assert "fingerprint" in capsys.readouterr().err


def test_own_module_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_models.py").write_text(
        "from torch import nn\n"
        "def small():\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.BatchNorm1d(12), nn.Tanh(), nn.Linear(12, 10))\n"
    )
    model = "my_models:small"
    assert (
        run(["train", model, "--data", "digits", "--epochs", "5", "--learning-rate", "0.01", "--out", "w.safetensors"])
        == 0
    )
    assert run(["compress", model, "--weights", "w.safetensors", "--data", "digits", "--out", "own.pact"]) == 0
    assert run(["certify", "own.pact", "--data", "digits", "--model", model]) == 0
    capsys.readouterr()
    record = run_json(capsys, "verify", "own.pact", "--data", "digits", "--model", model)
    assert record["agreed"] is True
    assert record["prior"] == "conditional"
    assert record["module"] == model
    error = run_json(capsys, "verify", "own.pact", "--data", "digits", code=2)
    assert "--model" in error["hint"]


def test_help_teaches() -> None:
    environment = {**os.environ, "COLUMNS": "100", "TERM": "dumb"}
    started = time.monotonic()
    for command in ([], ["demo"], ["data"], ["train"], ["compress"], ["certify"], ["verify"], ["info"]):
        done = subprocess.run(
            [*NETPACT, *command, "--help"],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Example: netpact" in done.stdout or not command
    assert time.monotonic() - started < 60


_COMMANDS = [
    "demo",
    "data",
    "train",
    "measure",
    "methods",
    "ranks",
    "compress",
    "search",
    "certify",
    "verify",
    "info",
    "bounds",
    "experiment",
]


@pytest.mark.parametrize("command", ["", *_COMMANDS])
def test_help_fits_eighty_columns(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 80)
    assert run([*command.split(), "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    if not command:
        assert all(any(line.lstrip("│ ").startswith(name) for line in lines) for name in _COMMANDS)


def test_methods_names_every_method_and_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["methods"]) == 0
    told = capsys.readouterr().err
    for name, method in METHODS.items():
        assert f"\n{name}" in f"\n{told}"
        assert all(f" {field.name}" in told for field in fields(cast(Any, method)) if field.name != "base")
    assert run(["compress", "--help"]) == 0
    assert "netpact methods" in capsys.readouterr().out


def test_help_does_not_import_torch() -> None:
    code = (
        "import sys\nfrom netpact.cli.app import run\nrun(['compress', '--help'])\n"
        "sys.exit('torch' in sys.modules or 'sklearn' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


def test_interrupt_during_training_is_130_and_leaves_no_half_written_file(tmp_path: Path) -> None:
    out, checkpoint = tmp_path / "w.safetensors", tmp_path / "run.checkpoint"
    command = [
        "train",
        "mlp",
        "--data",
        "digits",
        "--epochs",
        "100000",
        "--out",
        str(out),
        "--checkpoint",
        str(checkpoint),
    ]
    process = subprocess.Popen(
        [*NETPACT, *command],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not checkpoint.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()  # were the interrupt lost, the training would go on for ever
    assert process.returncode == 130, errors
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir()] == [checkpoint.name]
