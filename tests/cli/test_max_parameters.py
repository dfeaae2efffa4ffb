"""Files of large networks: refused by default, opened when the user says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from netpact import compress, load_data, seal, trace
from netpact.cli.app import run
from netpact.methods import Quantize
from netpact.models import build, parse_model

PARAMETERS = 650  # of a linear classifier of 8 x 8 digits


@pytest.fixture
def file(tmp_path: Path) -> str:
    data = load_data("digits")
    module = build(parse_model("linear", input_shape=data.input_shape, classes=data.classes))
    return str(seal(compress(trace(module, data), Quantize(bits=2))).write(tmp_path / "linear.pact"))


def test_the_limit_reaches_every_command_that_opens_a_file(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["certify", file, "--data", "digits"], ["verify", file, "--data", "digits"], ["info", file]):
        assert run([*command, "--max-parameters", str(PARAMETERS - 1)]) == 2
        assert "--max-parameters" in capsys.readouterr().err
        assert run([*command, "--max-parameters", str(PARAMETERS)]) == 0


def test_the_limit_reaches_the_base(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--max-parameters", str(PARAMETERS - 1)]
    assert run(["certify", str(tmp_path / "linear.pact"), "--data", "digits", "--base", file, *few]) == 2
    assert "650 parameters" in capsys.readouterr().err.replace("\n", " ")
