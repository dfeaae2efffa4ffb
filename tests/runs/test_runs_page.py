from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import netpact.runs

ROOT = Path(__file__).parents[2]


def test_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "runs.md").read_text(), re.DOTALL | re.MULTILINE)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/runs.md", "exec"), names)


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
