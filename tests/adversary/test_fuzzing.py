"""A few seconds of tools/fuzz.py: hostile files of every kind are opened or refused, within caps on time and memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "fuzz.py"


def test_no_hostile_file_crashes_or_costs_much() -> None:
    command = [sys.executable, "-W", "error", str(TOOL), "--inputs", "250", "--seconds", "60"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "0 failed" in run.stdout
    # Neither side of the alternative goes untested, and invented messages come to their end.
    assert "'invented.pact'" in run.stdout
