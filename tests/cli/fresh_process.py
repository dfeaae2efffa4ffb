"""The command line in a process of its own, as a user starts it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NETPACT = (sys.executable, "-c", "from netpact.cli.app import main; main()")


def run_fresh(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs in the given folder, or in this one. A failure is told by what the command wrote about it."""
    done = subprocess.run([*NETPACT, *arguments], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return done
