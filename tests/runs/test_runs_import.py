from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import netpact.runs


def test_importing_runs_loads_no_numerical_library() -> None:
    source = str(Path(netpact.runs.__file__).parents[2])
    code = f"""
import sys
sys.path.insert(0, {source!r})
import netpact.runs
print({{"torch", "numpy"}} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
