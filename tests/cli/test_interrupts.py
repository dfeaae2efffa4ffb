"""Ctrl-C at any moment: exit code 130, no traceback, and words that are true about what is left."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest
from cli.fresh_process import NETPACT

from netpact.cli.app import run

# Seconds after the interpreter has reached main: while the command line is imported, and while torch is.
_DELAYS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)


@pytest.mark.parametrize("delay", _DELAYS)
def test_an_interrupt_in_the_first_second(delay: float, tmp_path: Path) -> None:
    # Before the first line of ours runs nobody can answer: the interpreter's own start takes longer than that.
    code = "from netpact.cli.app import main; print('up', flush=True); main()"
    command = [NETPACT[0], "-c", code, "train", "mlp", "--data", "digits", "--epochs", "100000"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "w.safetensors")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        time.sleep(0.02 + delay)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert errors.strip().endswith("interrupted; nothing was written")
    assert not list(tmp_path.iterdir())


def test_other_errors_that_an_interrupt_turns_into_are_interrupts() -> None:
    """As when a library in C is interrupted while it is imported."""
    code = (
        "import os, signal, sys, netpact.cli.app as app\n"
        "def run(_):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        for _ in range(1000): pass\n"
        "    except KeyboardInterrupt:\n"
        "        raise ImportError('numpy failed to import') from None\n"
        "app.run = run\n"
        "app.main()"
    )
    done = subprocess.run([NETPACT[0], "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted; nothing was written\n")


def test_errors_of_ours_stay_errors() -> None:
    code = "import netpact.cli.app as app\ndef run(_): raise ZeroDivisionError\napp.run = run\napp.main()"
    done = subprocess.run([NETPACT[0], "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


KEEPING = {
    "search": (["search", "--data", "digits", "--budget", "1s"], "netpact.exploration.searching.certify"),
    "demo": (["demo", "--jobs", "1"], "netpact.comparisons.demonstration.running._results"),
    "experiment": (["experiment", "arora-fig1", "--preset", "digits"], "netpact.experiments.running._run"),
}


@pytest.mark.parametrize("command", KEEPING)
def test_what_is_kept_is_told_only_where_something_is(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, place = KEEPING[command]
    module, _, name = place.rpartition(".")
    __import__(module)
    monkeypatch.setattr(f"{module}.{name}", interrupt)
    if command == "search":
        monkeypatch.setattr("netpact.exploration.searching._screen_all", interrupt)
    assert run([*arguments, "--out", str(tmp_path / "out")]) == 130
    assert "interrupted; nothing was written" in capsys.readouterr().err
    (tmp_path / "out" / "run" / "first.json").write_text("{}")
    assert run([*arguments, "--out", str(tmp_path / "out")]) == 130
    told = " ".join(capsys.readouterr().err.split())
    assert "interrupted; finished results are kept in" in told
    assert "the same command resumes there" in told


@pytest.mark.parametrize("kept", [True, False])
def test_training_keeps_a_checkpoint_or_nothing(
    kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import netpact.training.plain  # noqa: F401 - so that the name below is found

    monkeypatch.setattr("netpact.training.plain._run_epoch", interrupt)
    line = ["train", "linear", "--data", "digits", "--out", str(tmp_path / "w.safetensors")]
    assert run([*line, *(["--checkpoint", str(tmp_path / "run.checkpoint")] if kept else [])]) == 130
    told = " ".join(capsys.readouterr().err.split())
    assert ("finished epochs are kept in" if kept else "interrupted; nothing was written") in told
