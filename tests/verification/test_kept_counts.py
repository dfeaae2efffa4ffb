"""A count that was interrupted goes on where it was, for the same network, samples and version alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import netpact
from netpact.datasets import ArraySamples
from netpact.network import ErrorCount, count_errors
from netpact.network.rounding import counting
from netpact.pacts import kept_counts
from netpact.pacts.kept_counts import KeptCount

WHAT = {"message": "a", "samples": "b"}


class Stops(nn.Module):
    """Ends after so many samples, as if by a kill; and remembers how many it was given."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.layer, self.after, self.seen = nn.Linear(4, 3), after, [0]
        torch.manual_seed(0)
        nn.init.normal_(self.layer.weight)
        nn.init.zeros_(self.layer.bias)

    def __deepcopy__(self, memo: object) -> Stops:
        copied = Stops(self.after)
        copied.seen = self.seen
        return copied

    def forward(self, x: Tensor) -> Tensor:
        self.seen[0] += len(x)
        if self.seen[0] > self.after:
            raise KeyboardInterrupt
        found: Tensor = self.layer(x)
        return found


@pytest.fixture
def samples(monkeypatch: pytest.MonkeyPatch) -> ArraySamples:
    monkeypatch.setattr(counting, "_BATCH", 50)
    monkeypatch.setattr(kept_counts, "_SECONDS", 0.0)
    drawn = np.random.default_rng(0)
    return ArraySamples(drawn.standard_normal((1000, 4)).astype(np.float32), drawn.integers(0, 3, 1000), "many", 3)


def count(module: nn.Module, samples: ArraySamples, kept: KeptCount | None) -> ErrorCount:
    return count_errors(module, samples, arithmetic="float32", kept=kept)


def test_the_rest_is_counted_and_the_sum_is_the_same(samples: ArraySamples, tmp_path: Path) -> None:
    whole = count(Stops(10**9), samples, None)
    with pytest.raises(KeyboardInterrupt):
        count(Stops(800), samples, KeptCount(tmp_path, WHAT))
    before = KeptCount(tmp_path, WHAT).read(batch=50)
    assert 100 <= before.samples < 1000
    again = Stops(10**9)
    assert count(again, samples, KeptCount(tmp_path, WHAT)) == whole
    assert again.seen[0] < 1000 - before.samples + 400, "what was counted before is not run again"
    finished = Stops(10**9)
    assert count(finished, samples, KeptCount(tmp_path, WHAT)) == whole
    assert finished.seen[0] < 10


@pytest.mark.parametrize("change", ["message", "version", "batch", "torn", "negative", "words"])
def test_nothing_else_is_taken_for_it(change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = KeptCount(tmp_path, WHAT)
    kept.write(ErrorCount(5, 1, 100), batch=50, at_once=True)
    assert kept.read(batch=50) == ErrorCount(5, 1, 100)
    nothing, batch = ErrorCount(0, 0, 0), 50
    if change == "message":
        kept = KeptCount(tmp_path, {**WHAT, "message": "other"})
    elif change == "version":
        monkeypatch.setattr(kept_counts, "__version__", "0.0")
    elif change == "batch":
        batch = 49
    elif change == "torn":
        kept.path().write_bytes(kept.path().read_bytes()[:-20])
    else:
        record = json.loads(kept.path().read_text())
        record["counted"]["errors"] = -1 if change == "negative" else "none"
        kept.path().write_text(json.dumps(record))
    assert kept.read(batch=batch) == nothing


def test_a_killed_certification_goes_on(tmp_path: Path) -> None:
    """The command line is killed in the middle, by the signal that nobody can catch."""
    digits = netpact.load_data("digits")
    module = netpact.build(netpact.parse_model("mlp:16", input_shape=digits.input_shape, classes=10))
    file, folder = tmp_path / "net.pact", tmp_path / "counts"
    netpact.seal(netpact.compress(netpact.trace(module, digits), netpact.Quantize(bits=4))).write(file)
    slow = (
        "import time\n"
        "from netpact.network.rounding import counting, tolerance_run\n"
        "from netpact.pacts import kept_counts\n"
        "counting._BATCH, kept_counts._SECONDS = 64, 0.0\n"
        "run = tolerance_run.ToleranceRun.decide\n"
        "tolerance_run.ToleranceRun.decide = lambda *given: (time.sleep(0.3), run(*given))[1]\n"
        "import netpact\n"
        f"netpact.certify({str(file)!r}, 'digits', resume={str(folder)!r})\n"
    )
    child = subprocess.Popen([sys.executable, "-c", slow])
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not (counts := list(folder.glob("errors-*.json"))):
            time.sleep(0.05)
        assert counts
        time.sleep(0.4)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    (left,) = folder.glob("errors-*.json")
    before = json.loads(left.read_text())
    assert 0 < before["counted"]["samples"] < digits.train.count
    # As the process that was killed would have gone on: in batches of its size.
    previous = counting._BATCH
    counting._BATCH = 64
    try:
        told: list[int] = []
        resumed = netpact.certify(file, "digits", resume=folder, progress=lambda done, total: told.append(done))
    finally:
        counting._BATCH = previous
    once = netpact.certify(file, "digits")
    assert resumed.certificate is not None
    assert once.certificate is not None
    assert resumed.certificate.errors == once.certificate.errors
    assert resumed.certificate.near_ties == once.certificate.near_ties
    assert json.loads(left.read_text())["counted"]["samples"] == once.certificate.samples
