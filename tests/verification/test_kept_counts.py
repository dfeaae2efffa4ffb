"""A count that was interrupted goes on where it was, for the same network, samples and batches alone."""

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
from netpact.core.errors import PactError
from netpact.datasets import ArraySamples
from netpact.network import ErrorCount, count_errors, error_counting
from netpact.network.travelling import open_pickle, write_pickle
from netpact.pacts.verification import recount
from netpact.pacts.verification.recount import Recount, count_anew
from netpact.runs.parcels import Parcel
from netpact.shards import Execution, cutting


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
    for place in (error_counting, recount):
        monkeypatch.setattr(place, "_BATCH", 50)
    monkeypatch.setattr(cutting, "_SAMPLES", 100)
    drawn = np.random.default_rng(0)
    return ArraySamples(drawn.standard_normal((1000, 4)).astype(np.float32), drawn.integers(0, 3, 1000), "many", 3)


def named(module: nn.Module, name: str = "a net") -> Parcel:
    return Parcel(name, lambda: module, write_pickle, open_pickle, stays=True)


def count(module: nn.Module, samples: ArraySamples, folder: Path | None, name: str = "a net") -> ErrorCount:
    execution = Execution(None, folder)
    return count_errors(module, samples, arithmetic="float32", network=named(module, name), execution=execution)


def count_again(module: nn.Module, samples: ArraySamples, folder: Path | None) -> Recount:
    return count_anew(module, samples, "float32", network=named(module), execution=Execution(None, folder))


@pytest.mark.parametrize("counting", [count, count_again])
def test_the_rest_is_counted_and_the_sum_is_the_same(counting: object, samples: ArraySamples, tmp_path: Path) -> None:
    def found(module: nn.Module, folder: Path | None) -> object:
        return counting(module, samples, folder)  # type: ignore[operator]

    whole = found(Stops(10**9), None)
    with pytest.raises(KeyboardInterrupt):
        found(Stops(900), tmp_path)
    before = len(list(tmp_path.glob("*.json")))
    assert 1 <= before < 10
    again = Stops(10**9)
    assert found(again, tmp_path) == whole
    # In each shard the first samples are run again, and one of each batch alone.
    assert again.seen[0] < (10 - before) * 160 + 200, "what was counted before is not run again"
    finished = Stops(10**9)
    assert found(finished, tmp_path) == whole
    assert finished.seen[0] < 10


@pytest.mark.parametrize("change", ["network", "samples", "batch", "arithmetic"])
def test_nothing_else_is_taken_for_it(
    change: str, samples: ArraySamples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count(Stops(10**9), samples, tmp_path)
    before = len(list(tmp_path.glob("*.json")))
    other = Stops(10**9)
    if change == "network":
        count(other, samples, tmp_path, "another net")
    elif change == "samples":
        count(other, samples.take(slice(0, 999), name="fewer"), tmp_path)
    elif change == "batch":
        monkeypatch.setattr(error_counting, "_BATCH", 100)
        count(other, samples, tmp_path)
    else:
        count_errors(other, samples, arithmetic="float64", network=named(other), execution=Execution(None, tmp_path))
    assert other.seen[0] > 900
    assert len(list(tmp_path.glob("*.json"))) == 2 * before


def without_source() -> nn.Module:
    namespace: dict[str, type[nn.Module]] = {}
    exec(
        "from torch import nn\n"
        "class Hidden(nn.Module):\n"
        "    def __init__(self):\n        super().__init__(); self.layer = nn.LazyLinear(10)\n"
        "    def forward(self, x):\n        return self.layer(x.flatten(1))\n",
        namespace,
    )
    return namespace["Hidden"]()


def test_a_module_whose_code_is_not_known_is_not_kept(samples: ArraySamples, tmp_path: Path) -> None:
    for module, kept in ((without_source(), 0), (nn.Linear(4, 3), 10)):
        module(torch.zeros(1, 4))
        count_errors(module.requires_grad_(False), samples, arithmetic="float32", execution=Execution(None, tmp_path))
        assert len(list(tmp_path.glob("*.json"))) == kept


def test_a_killed_certification_goes_on(tmp_path: Path) -> None:
    """The process is killed in the middle, by the signal that nobody can catch."""
    digits = netpact.load_data("digits")
    module = netpact.build(netpact.parse_model("mlp:16", input_shape=digits.input_shape, classes=10))
    file, folder = tmp_path / "net.pact", tmp_path / "counts"
    netpact.seal(netpact.compress(netpact.trace(module, digits), netpact.Quantize(bits=4))).write(file)
    slow = (
        "import time\n"
        "from netpact.network import error_counting\n"
        "from netpact.network.rounding import tolerance_run\n"
        "from netpact.shards import cutting\n"
        "error_counting._BATCH = cutting._SAMPLES = 64\n"
        "run = tolerance_run.ToleranceRun.decide\n"
        "tolerance_run.ToleranceRun.decide = lambda *given: (time.sleep(0.3), run(*given))[1]\n"
        "import netpact\n"
        f"netpact.certify({str(file)!r}, 'digits', resume={str(folder)!r})\n"
    )
    child = subprocess.Popen([sys.executable, "-c", slow])
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and len(list(folder.glob("*.json"))) < 2:
            time.sleep(0.05)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    before = {path: path.read_bytes() for path in folder.glob("*.json")}
    assert 0 < sum(json.loads(text)["result"]["samples"] for text in before.values()) < digits.train.count
    # As the process that was killed would have gone on: in batches of its size.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(error_counting, "_BATCH", 64)
        patch.setattr(cutting, "_SAMPLES", 64)
        resumed = netpact.certify(file, "digits", resume=folder)
    once = netpact.certify(file, "digits")
    assert resumed.certificate == once.certificate
    assert all(path.read_bytes() == text for path, text in before.items())
    kept = [json.loads(path.read_text())["result"]["samples"] for path in folder.glob("*.json")]
    assert sum(kept) == digits.train.count + (digits.test.count if digits.test is not None else 0)


def test_a_module_of_the_users_own_needs_its_source(tmp_path: Path) -> None:
    digits, module = netpact.load_data("digits"), without_source()
    module(torch.zeros(1, 64))
    made = netpact.seal(netpact.compress(netpact.trace(module, digits), netpact.Quantize(bits=4)))
    with pytest.raises(PactError, match="resume: the code of the module is not identified"):
        netpact.certify(made, digits, model=module, resume=tmp_path)
