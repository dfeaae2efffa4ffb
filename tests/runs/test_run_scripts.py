"""Runs started from a user's script."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from runs.run_tasks import wait_until

import netpact.runs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")
SOURCE = str(Path(netpact.runs.__file__).parents[2])

SCRIPT = """
from netpact.runs import Processes, ResultStore, Task

def double(x):
    return 2 * x

def main():
    print(Processes(2).run([Task("a", double, {"x": 4}, version="1")], ResultStore("r"))[0])
"""


def run_script(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    command = [sys.executable, *(arguments or ("script.py",))]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=30)


def test_functions_of_a_script(tmp_path: Path) -> None:
    guarded = run_script(tmp_path, SCRIPT + "\nif __name__ == '__main__':\n    main()\n")
    assert "result=8" in guarded.stdout
    assert "reused=False" in guarded.stdout
    # The same function by its other name: the result is found again.
    assert "reused=True" in run_script(tmp_path, SCRIPT, "-c", "import script; script.main()").stdout


def test_script_without_guard_is_told_what_to_do(tmp_path: Path) -> None:
    done = run_script(tmp_path, SCRIPT + "\nmain()\n")
    assert done.returncode == 1
    assert "PactError: processes: a worker process ended with exit code 1 before it could take a task" in done.stderr
    assert 'needs `if __name__ == "__main__":`' in done.stderr


def test_function_that_only_the_parent_knows(tmp_path: Path) -> None:
    done = run_script(tmp_path, "", "-c", SCRIPT + "\nmain()\n")
    assert "error=\"the worker cannot import the function: AttributeError: Can't get attribute 'double'" in done.stdout


def test_control_c_while_the_workers_start(tmp_path: Path) -> None:
    slow = f"""
import pathlib, signal, time
if __name__ == "__mp_main__":
    held_back = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, set())
    pathlib.Path("started").write_text(f"held back: {{held_back}}")
    time.sleep(60)
{SCRIPT}
if __name__ == "__main__":
    main()
"""
    (tmp_path / "script.py").write_text(slow)
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    command = [sys.executable, "script.py"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        wait_until(lambda: (tmp_path / "started").exists() and (tmp_path / "started").read_text() != "")
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert (tmp_path / "started").read_text() == "held back: True"
    assert errors.count("Traceback") == 1
    assert errors.strip().endswith("KeyboardInterrupt")
