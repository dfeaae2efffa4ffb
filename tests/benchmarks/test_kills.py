"""A sweep whose workers and driver are killed at random loses nothing and repeats nothing that was finished."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kills.py"


@pytest.mark.skipif(sys.platform != "linux", reason="looks for workers below /proc")
def test_twelve_models_and_three_kills() -> None:
    """The benchmark has 200 models and ten kills."""
    spec = importlib.util.spec_from_file_location("bench_kills", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    kills = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kills)
    found = kills.run(models=12, kills=3)
    assert (found["lost"], found["repeated"]) == (0, 0)
    assert (found["kills of the driver"], found["kills of workers"], found["starts of the driver"]) == (1, 2, 2)
    assert 0 < found["cut off"] <= 4  # a worker's one task each, the driver's two
    notes = [("begun", 1, 0), ("stored", 1, 0), ("begun", 2, 0), ("begun", 1, 0), ("begun", 2, 0)]
    assert kills.repeated(notes) == 1
