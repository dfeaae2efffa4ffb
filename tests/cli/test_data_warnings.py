"""Commands that read data say what looks wrong about them, on stderr and before the work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netpact.cli.app import run


def _part(count: int = 300) -> Any:
    return np.random.default_rng(1).random((count, 1, 9, 9), dtype=np.float32), np.arange(count) % 4


def test_the_command_says_it_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x, y = _part()
    path = tmp_path / "[bold]odd\x1b[31m.npz"
    np.savez(path, x_train=x, y_train=y + 1)
    assert run(["data", str(path)]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "warning: [bold]odd\\x1b[31m train: no sample has label 0" in said.err
    assert "\x1b[31m" not in said.err
    assert run(["data", str(path), "--json"]) == 0
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert [problem["where"] for problem in problems] == ["[bold]odd\x1b[31m train"]


@pytest.mark.parametrize("command", ["train", "compress", "certify"])
def test_commands_that_use_data_say_it_first(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    x, y = _part(60)
    np.savez("odd.npz", x_train=x, y_train=y + 1)
    steps = {
        "train": ["train", "mlp:3", "--epochs", "1", "--out", "w.safetensors"],
        "compress": ["compress", "mlp:3", "--weights", "w.safetensors", "--out", "n.pact"],
        "certify": ["certify", "n.pact"],
    }
    for name, arguments in steps.items():
        assert run([*arguments, "--data", "odd.npz"]) == 0
        said = capsys.readouterr().err
        if name == command:
            assert said.startswith("warning: odd train: no sample has label 0")
            return
