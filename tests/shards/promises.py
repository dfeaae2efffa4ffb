"""What is promised of shards on any engine: those of this machine and those of a cluster are tested alike."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from runs.run_tasks import wait_until
from shards import shard_driver, shard_networks, shard_tasks
from torch import nn

import netpact
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.measurements import passes
from netpact.network import ErrorCount, as_run_counting, count_errors, error_counting
from netpact.pacts.fresh import certify_fidelity, certify_hold_out, disagreement
from netpact.pacts.verification import recount
from netpact.pacts.verification.recount import count_anew
from netpact.runs import Engine, JsonValue, kept_workers
from netpact.shards import Execution, Shards, cutting, go_through

SOURCE = str(Path(netpact.__file__).parents[1])
TESTS = str(Path(__file__).parents[1])


def same_as_here(engine: Engine, folder: Path) -> None:
    """Every number of every shard, in the order of the shards."""
    (folder / "gate").touch()
    shards = Shards(shard_tasks.images(), shard_tasks.BATCH, turn=1)
    arguments: dict[str, JsonValue] = {"folder": str(folder), "free": 0}
    here = go_through(shards, shard_tasks.look, arguments)
    told: list[tuple[int, int]] = []
    there = go_through(
        shards,
        shard_tasks.look,
        arguments,
        execution=Execution(engine),
        progress=lambda done, total: told.append((done, total)),
    )
    assert there == here
    assert len(here) == 6
    assert told[-1] == (6000, 6000)


def a_worker_is_killed(engine: Engine, folder: Path) -> None:
    samples, module = shard_tasks.images(3000), shard_networks.DiesOnce(folder)
    here = count_errors(module, samples, arithmetic="float32")
    assert not (folder / "died").exists()
    with kept_workers():
        there = count_errors(module, samples, arithmetic="float32", execution=Execution(engine))
        assert (folder / "died").exists()
        assert count_anew(module, samples, "float32", execution=Execution(engine)).errors == here.errors
    assert there == here == ErrorCount(here.errors, here.near_ties, 3000, 0)
    assert 0 < here.errors < 3000


def the_driver_is_killed(engine: Engine, folder: Path, *arguments: str) -> None:
    """It resumes, and repeats nothing finished."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([SOURCE, TESTS])}
    command = [sys.executable, str(Path(shard_driver.__file__)), str(folder), *arguments]
    with subprocess.Popen(command, env=environment) as process:
        wait_until(lambda: len(list((folder / "results").glob("*.json"))) == 3)
        process.kill()
    (folder / "gate").touch()
    found = shard_driver.go(folder, engine)
    assert found == shard_driver.go(folder, None)
    begun = shard_tasks.seen(folder)
    assert sorted(first for first in begun if first < shard_driver.FREE) == [0, 1024, 2048]
    assert set(begun) == {0, 1024, 2048, 3072, 4096, 5120}


def an_error_in_a_shard_ends_it(engine: Engine, folder: Path) -> None:
    arguments: dict[str, JsonValue] = {"folder": str(folder / "nowhere"), "free": 0}
    with pytest.raises(PactError, match="No such file or directory"):
        go_through(
            Shards(shard_tasks.images(), shard_tasks.BATCH), shard_tasks.look, arguments, execution=Execution(engine)
        )


def own_net() -> nn.Module:
    """A user's own module, which workers import by its name."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.Tanh(), nn.Linear(12, 10))


def statements_are_the_same(engine: Engine, folder: Path) -> None:
    """In every arithmetic, of our architectures and of the user's own; hold-out and fidelity."""
    digits = netpact.load_data("digits")
    few, fresh = Data("few", 10, digits.train), digits.test
    assert fresh is not None
    original = netpact.build(netpact.parse_model("mlp:8", input_shape=(1, 8, 8), classes=10), seed=netpact.Seed(1))
    traced = netpact.trace(original, few)
    quantised = netpact.compress(traced, netpact.Quantize(bits=4))
    own = netpact.compress(netpact.trace(own_net(), few), netpact.Quantize(bits=4))
    for compressed, model in (
        (quantised, None),
        (replace(quantised, arithmetic="as-run"), None),
        (netpact.compress(traced, netpact.WholeNumber(bits=4), samples=few), None),
        (replace(own, arithmetic="float64"), own_net),
    ):
        with small_shards():
            here = netpact.certify(compressed, few, model=model)
            there = netpact.certify(compressed, few, model=model, engine=engine)
            assert there == here
            verdict = netpact.verify(there, few, model=model, engine=engine)
            assert verdict, verdict
            assert verdict == netpact.verify(here, few, model=model)
    with small_shards():
        pair = [
            certify_fidelity(quantised, original, few, fresh, engine=by, resume=place)
            for by, place in ((engine, folder / "kept"), (None, None))
        ]
        assert list((folder / "kept").glob("disagree_in_shard*.json"))
        assert pair[0] == pair[1]
        held = [certify_hold_out(original, fresh, few, engine=by) for by in (engine, None)]
        assert held[0] == held[1]


def measures_are_the_same(engine: Engine, folder: Path) -> None:
    """To the last bit, also where random probes are in it; what is finished is not measured again."""
    digits = netpact.load_data("digits")
    module = netpact.build(netpact.parse_model("conv:3-4", input_shape=(1, 8, 8), classes=10), seed=netpact.Seed(1))
    options = netpact.MeasureOptions(samples=40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "_MOST", 16)
        patch.setattr(cutting, "_SAMPLES", 300)
        found = [
            netpact.measure(module, digits.test, options, engine=by, resume=place).to_json(with_samples=True)
            for by, place in ((None, None), (engine, folder / "kept"))
        ]
        assert found[0] == found[1]
        kept = {path: path.stat().st_mtime_ns for path in (folder / "kept").glob("*.json")}
        assert len(kept) == 3 + 3 + 3  # of all samples, and for the maps between layers and for noise
        again = netpact.measure(module, digits.test, options, resume=folder / "kept").to_json(with_samples=True)
    assert again == found[0]
    assert kept == {path: path.stat().st_mtime_ns for path in (folder / "kept").glob("*.json")}


@contextmanager
def small_shards(samples: int = 128) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "_SAMPLES", samples)
        patch.setattr(as_run_counting, "_FEWEST", 128)
        for place in (error_counting, recount):
            patch.setattr(place, "_BATCH", 64)
        for name in ("_BATCH", "_BATCH_ANEW"):
            patch.setattr(disagreement, name, 64)
        yield


PROMISES = (same_as_here, a_worker_is_killed, an_error_in_a_shard_ends_it)
