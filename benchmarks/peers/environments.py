"""Peers that cannot live beside netpact's torch get a virtual environment of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from netpact.core.errors import PactError

# Newer wheels of torch bring gigabytes of CUDA libraries along, which nothing here uses.
_CONSTRAINT = "torch<2.14\n"
_MINUTES = 15


def make_environment(folder: Path, requirements: tuple[str, ...]) -> Path:
    """The Python of a virtual environment with these packages; one that is there already is used as it is."""
    python = folder / "bin" / "python"
    ready = folder / "ready.txt"
    if ready.is_file() and ready.read_text() == "\n".join(requirements):
        return python
    folder.mkdir(parents=True, exist_ok=True)
    limits = folder / "limits.txt"
    limits.write_text(_CONSTRAINT)
    run([sys.executable, "-m", "venv", str(folder)], where=folder.name)
    install = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(limits), *requirements]
    run(install, where=folder.name)
    ready.write_text("\n".join(requirements))
    return python


def run(command: list[str], *, where: str) -> str:
    """What the command printed; a failure is told with the last line of what it said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60 * _MINUTES, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PactError(f"could not be run: {error}", where=where) from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise PactError(f"failed: {said[-1] if said else f'code {done.returncode}'}", where=where)
    return done.stdout


def installed_version(python: Path, package: str) -> str:
    ask = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
    return run([str(python), "-c", ask, package], where=package).strip()
