"""Decoding needs the bytes and nothing else: no data, no home, no default of any library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import netpact.format

SCRIPT = Path(__file__).with_name("decode_elsewhere.py")
GOLDEN_FOLDER = Path(__file__).with_name("golden")


def start(setting: str, **environment: str) -> subprocess.Popen[str]:
    source = str(Path(netpact.format.__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(SCRIPT), str(GOLDEN_FOLDER), setting],
        env={**os.environ, "PYTHONPATH": source, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_every_process_decodes_the_same_weights(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    elsewhere = {"NETPACT_DATA": str(nothing), "HOME": str(nothing), "PYTHONHASHSEED": "7"}
    started = {
        "one thread": start("one thread", OMP_NUM_THREADS="1"),
        "two threads": start("two threads", OMP_NUM_THREADS="2", **elsewhere),
        "all defaults changed": start("all defaults changed", **elsewhere),
    }
    table = json.loads((GOLDEN_FOLDER / "golden.json").read_text())
    expected = {name: entry["weights_sha256"] for name, entry in table.items()}
    for setting, process in started.items():
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, f"{setting}: {errors}"
        assert json.loads(output) == expected, setting
    assert list(nothing.iterdir()) == []
