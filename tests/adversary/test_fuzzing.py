"""A few seconds of tools/fuzz.py: hostile files of every kind are opened or refused, within caps on time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from netpact import PactError, load_model
from netpact.models.tensors import read_tensors

TOOL = Path(__file__).parents[2] / "tools" / "fuzz.py"


def test_no_hostile_file_crashes_or_costs_much() -> None:
    command = [sys.executable, "-W", "error", str(TOOL), "--inputs", "600", "--seconds", "60"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "0 failed" in run.stdout
    # Neither side of the alternative goes untested, and invented messages come to their end.
    assert "'invented.pact'" in run.stdout


def test_a_weight_file_whose_metadata_are_null(tmp_path: Path) -> None:
    """Found by the tool: safetensors takes null for no metadata, and so must whoever reads its header again."""
    header = json.dumps({"__metadata__": None, "weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})
    file = tmp_path / "null.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header.encode() + bytes(4))
    assert read_tensors(file).note is None
    with pytest.raises(PactError, match="does not say which architecture"):
        load_model(file)
