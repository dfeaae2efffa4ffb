"""The ways into the command line: the version, python -m netpact, completion by the shell."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest
from cli.fresh_process import NETPACT

from netpact.cli.app import run
from netpact.cli.dispatch import app
from netpact.core.version import __version__


def complete(words: str, command: tuple[str, ...] = NETPACT) -> list[str]:
    """What bash is offered for the last of these words."""
    asked = {"_NETPACT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **asked}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_version_is_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr() == (f"netpact {__version__}\n", "")


def test_the_package_is_a_command_too() -> None:
    done = subprocess.run([sys.executable, "-m", "netpact", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"netpact {__version__}\n"), done.stderr
    wrong = subprocess.run([sys.executable, "-m", "netpact", "nonsense"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "nonsense" in wrong.stderr


def test_the_shell_completes_commands_and_options() -> None:
    assert set(complete("netpact ")) == {command.callback.__name__ for command in app.registered_commands}  # type: ignore[union-attr]
    assert complete("netpact ver") == ["verify"]
    assert "--max-memory" in complete("netpact verify --max-")


def test_completion_is_quick_because_it_does_not_import_torch() -> None:
    code = "import sys\nfrom netpact.cli.app import main\ntry: main()\nfinally: assert 'torch' not in sys.modules"
    assert complete("netpact ver", (sys.executable, "-c", code)) == ["verify"]


def test_the_script_that_switches_completion_on_is_printed() -> None:
    line = (
        f"{shlex.join(NETPACT)} --show-completion; exit $?"  # exit: bash stays, and is found by who asks for the shell
    )
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "_NETPACT_COMPLETE=complete_bash" in done.stdout


def test_help_takes_less_than_half_a_second_and_neither_torch_nor_numpy() -> None:
    """In seconds of the processor: what a busy machine adds by waiting is not ours."""
    code = (
        "import resource, sys\nfrom netpact.cli.app import run\nassert run(['--help']) == 0\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        'sys.stderr.write(f\'{used.ru_utime + used.ru_stime} {bool({"torch", "numpy"} & set(sys.modules))}\')'
    )
    found = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
        for _ in range(3)
    ]
    assert {imported for _, imported in found} == {"False"}
    assert min(float(seconds) for seconds, _ in found) < 0.5
