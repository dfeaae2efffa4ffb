"""The engine on a real Ray cluster of two nodes, both on this machine. One test starts it once: that takes seconds."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from runs import run_tasks, test_engines
from runs.run_driver import gated_tasks
from runs.run_tasks import calls, wait_until
from shards import promises as promises_of_shards

import netpact.runs
from netpact.core.errors import PactError
from netpact.runs import Engine, Inline, Ray, ResultStore, Task

SOURCE = str(Path(netpact.runs.__file__).parents[2])
TESTS = str(Path(__file__).parents[1])
DRIVER = Path(__file__).with_name("run_driver.py")


@contextmanager
def cluster() -> Iterator[Any]:
    """Two nodes of one processor each; their workers find the tests' functions."""
    from ray.cluster_utils import Cluster

    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([SOURCE, TESTS])
    small: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    nodes = Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
    try:
        nodes.add_node(**small)
        nodes.wait_for_nodes()
        yield nodes
    finally:
        nodes.shutdown()
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def promises() -> list[Callable[[Engine, Path], None]]:
    """What both other engines are tested for."""
    functions = [one for one in vars(test_engines).values() if inspect.isfunction(one)]
    return [one for one in functions if set(inspect.signature(one).parameters) == {"engine", "tmp_path"}]


def test_a_cluster_of_two_nodes(tmp_path: Path) -> None:
    if os.environ.get("NETPACT_RAY") != "required":
        pytest.importorskip("ray", reason="needs ray")
    with cluster() as nodes:
        engine = Ray(nodes.address)
        _same_as_inline(engine, tmp_path / "same")
        with connection(nodes.address):
            _keeps_the_promises_of_engines(engine, tmp_path)
            _goes_through_shards(engine, tmp_path)
        _threads_are_those_asked_for(nodes.address, tmp_path / "threads")
        _a_worker_is_killed(engine, tmp_path / "worker")
        _the_driver_is_killed(nodes.address, tmp_path / "driver")
        _the_driver_of_shards_is_killed(engine, nodes.address, tmp_path / "shards")
        _a_node_is_lost(engine, nodes, tmp_path / "node")
        _nothing_is_asked_of_the_cluster(tmp_path / "same")


@contextmanager
def connection(address: str) -> Iterator[None]:
    """Of the test's own, which the engine then uses: a new one for each run would start new workers each time."""
    import ray

    ray.init(address=address, log_to_driver=False)
    try:
        yield
        assert ray.is_initialized()
    finally:
        ray.shutdown()


def _keeps_the_promises_of_engines(engine: Engine, folder: Path) -> None:
    assert len(promises()) >= 8
    for promise in promises():
        place = folder / promise.__name__
        place.mkdir()
        promise(engine, place)


def _goes_through_shards(engine: Engine, folder: Path) -> None:
    shards = promises_of_shards
    for promise in (*shards.PROMISES, shards.statements_are_the_same, shards.measures_are_the_same):
        place = folder / promise.__name__
        place.mkdir()
        promise(engine, place)


def _the_driver_of_shards_is_killed(engine: Engine, address: str, folder: Path) -> None:
    folder.mkdir()
    promises_of_shards.the_driver_is_killed(engine, folder, address)


def _same_as_inline(engine: Engine, folder: Path) -> None:
    folder.mkdir()
    tasks = [*test_engines.squares(folder, *range(12)), test_engines.task(run_tasks.shapes, number=3)]
    here = Inline().run(tasks, ResultStore(folder / "here"))
    there = engine.run(tasks, ResultStore(folder / "there"))
    assert [one.result for one in here] == [one.result for one in there]


def _nothing_is_asked_of_the_cluster(folder: Path) -> None:
    tasks = test_engines.squares(folder, *range(12))
    assert all(one.reused for one in Ray("127.0.0.1:1").run(tasks, ResultStore(folder / "there")))


def _threads_are_those_asked_for(address: str, folder: Path) -> None:
    [outcome] = Ray(address, threads=1).run([test_engines.task(run_tasks.environment)], ResultStore(folder))
    assert outcome.result == ["1", "1"]
    with pytest.raises(PactError, match="ray: no node of the cluster can have 9 processors"):
        Ray(address, threads=9).run([test_engines.task(run_tasks.environment)], ResultStore(folder / "more"))


def _a_worker_is_killed(engine: Engine, folder: Path) -> None:
    folder.mkdir()
    tasks = [
        test_engines.task(run_tasks.die_once, folder=str(folder)),
        test_engines.task(run_tasks.die, folder=str(folder), signal_number=int(signal.SIGKILL)),
        *test_engines.squares(folder, 1, 2),
    ]
    outcomes = engine.run(tasks, ResultStore(folder / "r"))
    assert [one.result for one in outcomes] == ["second time", None, 1, 4]
    assert "while the cluster ran this task, tried twice" in (outcomes[1].error or "")
    assert sorted(calls(folder)) == ["die", "die", "die_once", "die_once", "square1", "square2"]


def _the_driver_is_killed(address: str, folder: Path) -> None:
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([SOURCE, TESTS])}
    with subprocess.Popen([sys.executable, str(DRIVER), str(folder), address], env=environment) as process:
        wait_until(lambda: len(list((folder / "results").glob("*.json"))) == 3)
        process.kill()
    (folder / "gate").touch()
    outcomes = Ray(address).run(gated_tasks(str(folder)), ResultStore(folder / "results"))
    assert [one.result for one in outcomes] == list(range(6))
    assert [one.reused for one in outcomes] == [True] * 3 + [False] * 3
    assert all(calls(folder).count(f"pass{number}") == 1 for number in range(3))


def _a_node_is_lost(engine: Engine, nodes: Any, folder: Path) -> None:
    folder.mkdir()
    (folder / "gate").touch()
    lost: list[int] = []

    def lose(_: object) -> None:
        if not lost:
            lost.append(1)
            nodes.remove_node(nodes.list_all_nodes()[-1], allow_graceful=False)

    outcomes = engine.run(gated_tasks(str(folder)), ResultStore(folder / "r"), lose)
    assert [one.result for one in outcomes] == list(range(6))


def test_bad_options_and_missing_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: dict[str, Any] = {"address": 3, "jobs": -1, "threads": 0}
    for name, bad in wrong.items():
        with pytest.raises(PactError, match=f"{name}: must be"):
            Ray(**{name: bad})
    work = test_engines.squares(tmp_path, 1)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(PactError, match=r"ray: Ray is not installed \(pip install 'netpact\[ray\]'\)"):
        Ray().run(work, ResultStore(tmp_path / "r"))


def test_functions_of_a_script_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = [Task("square", run_tasks.square, {"folder": str(tmp_path), "number": 1}, version="1")]
    monkeypatch.setattr(run_tasks.square, "__module__", "__main__")
    with pytest.raises(PactError, match="ray: a node of a cluster cannot import the functions of a script"):
        Ray().run(work, ResultStore(tmp_path / "r"))
