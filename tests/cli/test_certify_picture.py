"""certify tells the whole picture: what the bound was made of, and what to hold it against."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from netpact import Quantize, build, compress, load_data, parse_model, risk_bound, seal, trace
from netpact.cli.app import run


@pytest.fixture
def untrained(tmp_path: Path) -> str:
    """A network that has learned nothing: its bound says nothing."""
    data = load_data("digits")
    module = build(parse_model("linear", input_shape=data.input_shape, classes=10))
    return str(seal(compress(trace(module, data), Quantize(bits=4))).write(tmp_path / "net.pact"))


def test_everything_is_told_in_80_columns(untrained: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["certify", untrained, "--data", "digits"]) == 0
    told = capsys.readouterr().err
    sentence, picture = told[told.index("With probability") :].split("\n", 1)
    assert sentence.endswith("same distribution.")
    assert all(len(line) <= 80 for line in picture.splitlines()), picture
    rows = [line.strip() for line in picture.splitlines()]
    for start in ("bound", "train error", "test error", "hold-out bound", "message"):
        assert any(row.startswith(start) for row in rows), start
    for words in ("near ties", "0 bits", "used in no choice", "the file has", "vacuous", "netpact search"):
        assert words in " ".join(rows)


def test_the_same_in_json(untrained: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["certify", untrained, "--data", "digits", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["vacuous"] is True
    assert record["file_bytes"] == Path(untrained).stat().st_size > record["message_bytes"]
    assert record["test_bound"] == risk_bound(errors=record["test_errors"], samples=360, code_bits=0, delta=0.05)


def test_copies_are_told_and_no_test_samples(
    untrained: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x, y = next(iter(load_data("digits").train.batches(2000)))
    x, y = np.concatenate([x, x[:3], x[5:6]]), np.concatenate([y, y[:3], (y[5:6] + 1) % 10])
    np.savez(tmp_path / "own.npz", x_train=x, y_train=y, x_test=x[:50], y_test=y[:50])
    assert run(["certify", untrained, "--data", str(tmp_path / "own.npz"), "--json"]) == 0
    captured = capsys.readouterr()
    record = json.loads(captured.out)
    assert record["copies"] == {"number": 3, "repeats": False}
    assert (record["two_labels"], record["test_copies"], record["test_bound"]) == (1, 50, None)
    told = " ".join(captured.err.split())
    for words in ("3 exact copies of training samples, left out", "50 test samples are exact copies", "two labels 1"):
        assert words in told


def test_data_without_a_test_part(untrained: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x, y = next(iter(load_data("digits").train.batches(2000)))
    np.savez(tmp_path / "own.npz", x_train=x, y_train=y)
    assert run(["certify", untrained, "--data", str(tmp_path / "own.npz"), "--json"]) == 0
    captured = capsys.readouterr()
    assert "no test part" in captured.err
    assert json.loads(captured.out)["test_bound"] is None
