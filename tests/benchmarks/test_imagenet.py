"""The hours of docs/cluster.md are what the stated costs make of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.test_bench_page import ROOT, load


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield load(ROOT / "benchmarks" / "imagenet.py")
    sys.modules.pop("recording", None)


def test_by_hand(script: Any, tmp_path: Path) -> None:
    rows = [("start", None, 1000.0), ("decoding", None, 3000.0), ("reading and packing", 0.01, None)]
    rows += [("opening", 0.5, None), ("measuring: norms", 99.5, None), ("counting, as run", 199.5, None)]
    rows += [("counting, float32 with rounding bounds in both", 999.5, None)]
    rows += [("counting, float32 with rounding bounds, samples", 299.5, None)]
    told = [{"what": what, "ms for each sample": each, "ms once for each worker": once} for what, each, once in rows]
    file = tmp_path / "shard_costs.json"
    file.write_text(json.dumps({"rows": told}))
    found = {row["work"]: row for row in script.table(*script.read_costs(file))}
    norms = found["norms at every layer, margins"]
    # 0.1 s for an image on 16 cores; 10 Gbit/s carry 150,528 bytes in 0.12 ms, which is less on 1 and 8 nodes alone.
    assert norms["hours, 1 node"] == pytest.approx((4 + 1_281_167 * 0.1 / 16) / 3600)
    assert norms["hours, 8 nodes"] == pytest.approx((4 + 1_281_167 * 0.1 / 128) / 3600)
    assert norms["hours, 64 nodes"] == pytest.approx((4 + 1_281_167 * 150_528 * 8 / 1e10) / 3600)
    assert norms["nodes that can be fed"] == 51
