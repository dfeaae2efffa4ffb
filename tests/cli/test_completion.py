"""Shell completion: the names are those of the tables, and finding them does not import torch."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from netpact.bounds import BOUNDS
from netpact.cli import completion
from netpact.datasets import load_data
from netpact.experiments import EXPERIMENTS
from netpact.methods import METHODS
from netpact.models import parse_model

LINES = {
    "netpact cert": "certify",
    "netpact compress mlp --method ran": "random-projection random-prune",
    "netpact experiment shin-f": "shin-fig1 shin-fig2 shin-fig3",
    "netpact certify FILE --data fa": "fashion_mnist",
    "netpact bounds mlp --only neysh": "neyshabur-2015 neyshabur-2017",
    "netpact train dens": "densenet densenet-40",
    "netpact data cifar100": "cifar100",
    "netpact info wr": "wrn wrn-28-10",
    "netpact certify FILE --del": "--delta",
}


def test_names_are_those_of_the_tables() -> None:
    assert sorted(completion.method_names()) == sorted(METHODS)
    assert sorted(completion.experiment_names()) == sorted(EXPERIMENTS)
    assert sorted(completion.bound_names()) == sorted(BOUNDS)


def test_names_of_data_and_models_are_understood() -> None:
    assert "digits" in set(completion.data_names())
    load_data("digits")
    for name in completion.model_names():
        parse_model(name, input_shape=(3, 32, 32), classes=10)


def test_no_name_waits_for_torch() -> None:
    code = (
        "import sys; from netpact.cli import dispatch, completion as c;"
        "[list(f()) for f in (c.method_names, c.experiment_names, c.data_names, c.model_names, c.bound_names)];"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("line", LINES)
def test_the_shell_gets_them(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from netpact.cli.dispatch import app

    monkeypatch.setenv("_NETPACT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    with pytest.raises(SystemExit):
        app([], prog_name="netpact")
    assert capsys.readouterr().out.split() == LINES[line].split()


def test_the_installed_command_completes() -> None:
    given = {"_NETPACT_COMPLETE": "complete_bash", "COMP_WORDS": "netpact ver", "COMP_CWORD": "1"}
    code = "from netpact.cli.app import main; import sys; sys.argv = ['netpact']; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | given, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["verify"], done.stderr
