"""What both engines promise."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest
from runs import run_tasks
from runs.run_tasks import callers, calls

from netpact.core.errors import PactError
from netpact.runs import Engine, Inline, JsonValue, Parcel, Processes, ResultStore, Task, TaskDone, engine_for

ENGINES = [Inline(), Processes(2)]
both = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)


def squares(folder: Path, *numbers: int) -> list[Task]:
    return [Task(f"square {n}", run_tasks.square, {"folder": str(folder), "number": n}, version="1") for n in numbers]


def task(function: Any, **arguments: Any) -> Task:
    return Task(function.__name__, function, arguments, version="1")


@both
def test_outcomes_come_in_the_order_of_the_tasks(engine: Engine, tmp_path: Path) -> None:
    outcomes = engine.run(squares(tmp_path, 5, 1, 4, 2, 3), ResultStore(tmp_path / "r"))
    assert [outcome.result for outcome in outcomes] == [25, 1, 16, 4, 9]
    assert [outcome.task.key for outcome in outcomes] == [f"square {n}" for n in (5, 1, 4, 2, 3)]
    assert all(outcome.error is None and not outcome.reused and outcome.seconds >= 0 for outcome in outcomes)
    assert engine.run([], ResultStore(tmp_path / "r")) == []


@both
def test_second_run_reuses_and_does_not_call(engine: Engine, tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "r")
    first = engine.run(squares(tmp_path, 1, 2), store)
    again = engine.run(squares(tmp_path, 1, 2, 3), store)
    assert [outcome.result for outcome in again] == [1, 4, 9]
    assert [outcome.reused for outcome in again] == [True, True, False]
    assert [outcome.seconds for outcome in again[:2]] == [outcome.seconds for outcome in first]
    assert sorted(calls(tmp_path)) == ["square1", "square2", "square3"]


@both
def test_changed_argument_or_version_computes_again(engine: Engine, tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "r")

    def run(number: int, version: str) -> list[bool]:
        arguments: dict[str, JsonValue] = {"folder": str(tmp_path), "number": number}
        return [o.reused for o in engine.run([Task("k", run_tasks.square, arguments, version=version)], store)]

    assert run(1, "1") + run(2, "1") + run(1, "2") + run(1, "1") == [False, False, False, True]
    assert calls(tmp_path) == ["square1", "square2", "square1"]


@both
def test_fresh_result_equals_the_stored_one(engine: Engine, tmp_path: Path) -> None:
    store, work = ResultStore(tmp_path), [task(run_tasks.shapes, number=3)]
    (fresh,), (stored,) = engine.run(work, store), engine.run(work, store)
    assert stored.reused
    assert fresh.result == stored.result == {"pair": [3, -0.1], "none": None, "deep": [{"a": [True]}]}


@both
def test_errors_belong_to_their_task_and_are_not_stored(engine: Engine, tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "r")
    work = [
        task(run_tasks.fail, message="no good"),
        task(run_tasks.fail_politely),
        task(run_tasks.exit_task),
        *squares(tmp_path, 6),
    ]
    outcomes = engine.run(work, store)
    assert [o.error for o in outcomes] == [
        "ValueError: no good",
        "data: too few samples (add some)",
        "SystemExit: 3",
        None,
    ]
    assert [o.result for o in outcomes] == [None, None, None, 36]
    assert "in fail\n    raise ValueError(message)" in (outcomes[0].traceback or "")
    assert outcomes[3].traceback is None
    assert [o.reused for o in engine.run(work, store)] == [False, False, False, True]
    assert outcomes[0].to_json()["error"] == "ValueError: no good"


@both
def test_result_that_is_not_json_is_an_error_that_says_where(engine: Engine, tmp_path: Path) -> None:
    outcomes = engine.run([task(run_tasks.give_set), task(run_tasks.give_nan)], ResultStore(tmp_path))
    assert (outcomes[0].error or "").startswith("result['rows'][1]: a value of type set is not JSON; allowed: None,")
    assert outcomes[1].error == "result: nan is not a JSON number (use None where there is no number)"


@both
def test_function_that_changes_its_arguments_does_not_change_the_task(engine: Engine, tmp_path: Path) -> None:
    store, work = ResultStore(tmp_path), [task(run_tasks.change_arguments, items=[1, 2])]
    assert [o.result for o in engine.run(work, store)] == [3]
    assert work[0].arguments == {"items": [1, 2]}
    assert [o.reused for o in engine.run(work, store)] == [True]


@both
def test_progress_counts_reused_and_fresh_tasks(engine: Engine, tmp_path: Path) -> None:
    store, seen = ResultStore(tmp_path / "r"), list[TaskDone]()
    engine.run(squares(tmp_path, 2), store)
    engine.run([*squares(tmp_path, 1, 2), task(run_tasks.fail, message="x")], store, seen.append)
    assert [(p.done, p.total) for p in seen] == [(1, 3), (2, 3), (3, 3)]
    assert seen[0] == TaskDone(done=1, total=3, key="square 2", reused=True)
    assert {(p.key, p.reused) for p in seen[1:]} == {("square 1", False), ("fail", False)}


@both
def test_duplicate_keys_are_refused_before_any_work(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(PactError, match=r"tasks: several tasks have the same key: square 1 \("):
        engine.run(squares(tmp_path, 1, 2, 1), ResultStore(tmp_path / "r"))
    assert calls(tmp_path) == []


@both
def test_store_that_breaks_during_the_run_stops_it(engine: Engine, tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "r")
    work = squares(tmp_path, 1)
    store.path(work[0]).mkdir()
    with pytest.raises(PactError, match="must be a file, not a folder"):
        engine.run(work, store)


@pytest.mark.parametrize("jobs", [0, -1, True, 1.5, "2", None])
def test_bad_number_of_jobs_is_refused(jobs: Any) -> None:
    for build in (Processes, engine_for):
        with pytest.raises(PactError, match="jobs: must be an integer >= 1"):
            build(jobs)


def test_one_job_stays_in_this_process(tmp_path: Path) -> None:
    assert engine_for(1) == Inline()
    assert engine_for(3) == Processes(3)
    work = [Task("mean", statistics.fmean, {"data": [1, 2]}, version="1")]
    assert [o.result for o in engine_for(1).run(work, ResultStore(tmp_path))] == [1.5]


def parcelled(folder: Path, count: int, packed: list[str]) -> list[Task]:
    """Tasks that share one text, and have one each; `packed` notes what became bytes."""

    def parcel_of(name: str, text: str, *, stays: bool) -> Parcel:
        def pack(what: str) -> bytes:
            packed.append(name)
            return what.encode()

        return Parcel(name, lambda: text, pack, run_tasks.open_text, stays)

    shared = parcel_of("shared", "net", stays=True)
    return [
        Task(
            f"read {number}",
            run_tasks.read_parcels,
            {"folder": str(folder), "shared": "shared", "own": f"own {number}"},
            version="1",
            parcels=(shared, parcel_of(f"own {number}", f"text{number}", stays=False)),
        )
        for number in range(count)
    ]


@both
def test_parcels_come_with_the_tasks(engine: Engine, tmp_path: Path) -> None:
    packed: list[str] = []
    outcomes = engine.run(parcelled(tmp_path, 8, packed), ResultStore(tmp_path / "r"))
    assert [one.result for one in outcomes] == [f"net 3 text{number}" for number in range(8)], outcomes[0].error
    if isinstance(engine, Inline):
        assert packed == []
        return
    workers = len(callers(tmp_path))
    assert sorted(set(packed) - {"shared"}) == [f"own {number}" for number in range(8)]
    assert packed.count("shared") <= workers, "what stays travels once to each worker"
    assert calls(tmp_path).count("made") == workers, "and what is made of it is made once there"


@both
def test_a_parcel_that_is_missing_or_bad_is_named(engine: Engine, tmp_path: Path) -> None:
    arguments: dict[str, JsonValue] = {"folder": str(tmp_path), "shared": "shared", "own": "none"}
    [outcome] = engine.run([Task("read", run_tasks.read_parcels, arguments, version="1")], ResultStore(tmp_path / "r"))
    assert "no parcel 'shared' came with this task" in (outcome.error or "")


def own_name(name: str) -> Parcel:
    return Parcel(name, lambda: name, str.encode, run_tasks.open_text, stays=True)


@both
def test_a_worker_has_a_few_parcels_at_a_time(engine: Engine, tmp_path: Path) -> None:
    """A sweep over many networks: each comes back when it is needed again."""
    tasks = [
        Task(
            f"read {number}",
            run_tasks.read_parcels,
            {"folder": str(tmp_path), "shared": f"net {number % 6}", "own": f"own {number % 6}"},
            version="1",
            parcels=(own_name(f"net {number % 6}"), own_name(f"own {number % 6}")),
        )
        for number in range(18)
    ]
    outcomes = engine.run(tasks, ResultStore(tmp_path / "r"))
    assert [one.result for one in outcomes] == [f"net {n % 6} 5 own {n % 6}" for n in range(18)]
