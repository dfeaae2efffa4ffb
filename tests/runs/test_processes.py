"""Workers that die, drivers that die, interrupts."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from runs import run_tasks
from runs.run_driver import gated_tasks
from runs.run_tasks import callers, calls, wait_until

import netpact.runs
from netpact.core.errors import PactError
from netpact.runs import Processes, ResultStore, Task, TaskDone, kept_workers
from netpact.runs.attempt import Attempt
from netpact.runs.worker import Worker

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")
SOURCE = str(Path(netpact.runs.__file__).parents[2])
DRIVER = Path(__file__).with_name("run_driver.py")


def task(function: Any, key: str = "", **arguments: Any) -> Task:
    return Task(key or function.__name__, function, arguments, version="1")


def squares(folder: Path, *numbers: int) -> list[Task]:
    return [task(run_tasks.square, f"square {n}", folder=str(folder), number=n) for n in numbers]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A killed process whose new parent has not collected it yet is no longer running.
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


@pytest.fixture
def driver(tmp_path: Path) -> Any:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([SOURCE, str(DRIVER.parents[1])])}
    process = subprocess.Popen(
        [sys.executable, str(DRIVER), str(tmp_path)],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        yield process
        (tmp_path / "gate").touch()
        process.kill()


def test_killed_worker_costs_only_its_task(tmp_path: Path) -> None:
    folder = str(tmp_path)
    work = [
        task(run_tasks.die, folder=folder, signal_number=int(signal.SIGKILL)),
        *squares(tmp_path, 1, 2),
        task(run_tasks.die, "segfault", folder=folder, signal_number=int(signal.SIGSEGV)),
        task(run_tasks.leave, folder=folder, code=3),
        *squares(tmp_path, 3),
    ]
    outcomes = Processes(2).run(work, ResultStore(tmp_path / "r"))
    assert [o.result for o in outcomes] == [None, 1, 4, None, None, 9]
    errors = [o.error or "" for o in outcomes]
    assert errors[0].startswith("the worker process was killed by SIGKILL (often the system's answer to too little")
    assert errors[3] == "the worker process was killed by SIGSEGV while it ran this task, tried 2 times"
    assert errors[4] == "the worker process ended with exit code 3 while it ran this task, tried 2 times"
    assert sorted(calls(tmp_path)) == ["die"] * 4 + ["leave"] * 2 + ["square1", "square2", "square3"]
    assert multiprocessing.active_children() == []


def test_all_workers_dead_and_the_rest_still_runs(tmp_path: Path) -> None:
    work = [task(run_tasks.leave, folder=str(tmp_path), code=1), *squares(tmp_path, 1, 2)]
    outcomes = Processes(1).run(work, ResultStore(tmp_path / "r"))
    assert [o.result for o in outcomes] == [None, 1, 4]


def test_task_whose_worker_dies_once_succeeds_the_second_time(tmp_path: Path) -> None:
    work = [task(run_tasks.die_once, folder=str(tmp_path)), *squares(tmp_path, 1)]
    outcomes = Processes(2).run(work, ResultStore(tmp_path / "r"))
    assert [(o.result, o.error) for o in outcomes] == [("second time", None), (1, None)]
    assert calls(tmp_path).count("die_once") == 2


def test_death_is_noticed_while_a_process_of_the_task_holds_the_pipes_open(tmp_path: Path) -> None:
    started = time.monotonic()
    (outcome,) = Processes(1).run([task(run_tasks.die_with_child, folder=str(tmp_path))], ResultStore(tmp_path / "r"))
    assert "SIGKILL" in (outcome.error or "")
    assert time.monotonic() - started < 15
    wait_until(lambda: calls(tmp_path).count("child") == 2)
    for pid in filter(is_running, callers(tmp_path)):
        os.kill(pid, signal.SIGKILL)


def test_workers_are_kept_from_task_to_task(tmp_path: Path) -> None:
    work = [task(run_tasks.worker_id, f"id {n}", number=n) for n in range(8)]
    used = {o.result for o in Processes(2).run(work, ResultStore(tmp_path))}
    assert 1 <= len(used) <= 2
    assert os.getpid() not in used


def test_workers_share_the_processors_and_ignore_interrupts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpact.runs.processes.processors", lambda: 7)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "1")
    work = [task(run_tasks.environment), task(run_tasks.interrupts)]
    outcomes = Processes(2).run(work, ResultStore(tmp_path))
    # 7 // 2 for what is free, the user's own 1 where there is one.
    assert outcomes[0].result == ["3", "1"]
    assert outcomes[1].result == [True, False]
    assert (os.environ.get("OMP_NUM_THREADS"), os.environ["MKL_NUM_THREADS"]) == (None, "1")
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


def test_threads_may_be_fixed_whatever_the_number_of_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netpact.runs.processes.processors", lambda: 7)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for jobs in (1, 3):
        outcome = Processes(jobs, threads=2).run([task(run_tasks.environment)], ResultStore(tmp_path / str(jobs)))[0]
        assert outcome.result == ["2", "2"]
    with pytest.raises(PactError, match="threads: must be an integer >= 0"):
        Processes(1, threads=-1)


def test_large_values_and_processes_inside_tasks(tmp_path: Path) -> None:
    work = [task(run_tasks.large, size=5_000_000), task(run_tasks.start_process)]
    outcomes = Processes(2).run(work, ResultStore(tmp_path))
    assert [o.error for o in outcomes] == [None, None]
    assert outcomes[0].result == "x" * 5_000_000
    assert outcomes[1].result == "ok"


def test_result_is_stored_before_the_run_ends(tmp_path: Path) -> None:
    store, work, counts = ResultStore(tmp_path / "r"), squares(tmp_path, 1, 2, 3), list[int]()
    Processes(2).run(work, store, lambda _: counts.append(len(list(store.folder.iterdir()))))
    assert counts == [1, 2, 3]


def test_interrupt_leaves_no_process_and_keeps_results(tmp_path: Path) -> None:
    store, work = ResultStore(tmp_path / "r"), gated_tasks(str(tmp_path))

    times = []

    def interrupt(progress: TaskDone) -> None:
        if progress.done == 3:
            times.append(time.monotonic())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Processes(2).run(work, store, interrupt)
    # Stopped at once, not when the patience with workers that should leave by themselves is over.
    assert time.monotonic() - times[0] < 4
    assert multiprocessing.active_children() == []
    assert not any(is_running(pid) for pid in callers(tmp_path))
    (tmp_path / "gate").touch()
    assert [o.reused for o in Processes(2).run(work, store)] == [True] * 3 + [False] * 3


def test_control_c_at_the_terminal(driver: Any, tmp_path: Path) -> None:
    # The terminal sends the signal to the whole group, workers included.
    wait_until(lambda: len(calls(tmp_path)) == 5)
    wait_until(lambda: len(list((tmp_path / "results").glob("*.json"))) == 3)
    os.killpg(driver.pid, signal.SIGINT)
    _, errors = driver.communicate(timeout=20)
    assert driver.returncode == -signal.SIGINT
    assert errors.count("Traceback") == 1
    assert not any(is_running(pid) for pid in callers(tmp_path))
    assert len(list((tmp_path / "results").glob("*.json"))) == 3


def test_killed_driver_takes_its_workers_along_and_the_next_run_does_only_the_rest(driver: Any, tmp_path: Path) -> None:
    wait_until(lambda: len(calls(tmp_path)) == 5)
    wait_until(lambda: len(list((tmp_path / "results").glob("*.json"))) == 3)
    driver.kill()
    driver.wait(timeout=20)
    wait_until(lambda: not any(is_running(pid) for pid in callers(tmp_path)))
    before = calls(tmp_path)
    (tmp_path / "gate").touch()
    outcomes = Processes(2).run(gated_tasks(str(tmp_path)), ResultStore(tmp_path / "results"))
    assert [o.result for o in outcomes] == [0, 1, 2, 3, 4, 5]
    assert [o.reused for o in outcomes] == [True, True, True, False, False, False]
    assert sorted(calls(tmp_path)[len(before) :]) == ["pass3", "pass4", "pass5"]


def test_answer_that_was_sent_just_before_the_worker_died_counts() -> None:
    worker = Worker(task(run_tasks.large, size=1), place=0, tries=1)
    far_end = worker._far_end

    class Dying:
        pid = None

        def is_alive(self) -> bool:
            far_end.send_bytes(b'{"result": 5}')
            return False

    worker.process = Dying()  # type: ignore[assignment]
    assert worker.receive() == Attempt(result=5)
    worker.bury()


def test_progress_that_raises_stops_the_workers(tmp_path: Path) -> None:
    def refuse(progress: TaskDone) -> None:
        raise PactError("enough")

    with pytest.raises(PactError, match="enough"):
        Processes(2).run(gated_tasks(str(tmp_path)), ResultStore(tmp_path / "r"), refuse)
    assert multiprocessing.active_children() == []


def test_workers_wait_for_the_next_run(tmp_path: Path) -> None:
    """Within a block the same processes are used again, also after one of them died; after it none is left."""
    with kept_workers():
        Processes(2).run(squares(tmp_path, 1, 2, 3), ResultStore(tmp_path / "r"))
        first = callers(tmp_path)
        with kept_workers():
            Processes(2).run(squares(tmp_path, 4, 5, 6), ResultStore(tmp_path / "r"))
        assert callers(tmp_path) == first
        for pid in first:
            os.kill(pid, signal.SIGKILL)
        outcomes = Processes(2).run(squares(tmp_path, 7, 8), ResultStore(tmp_path / "r"))
        assert [one.result for one in outcomes] == [49, 64]
        assert any(is_running(pid) for pid in callers(tmp_path))
    assert not any(is_running(pid) for pid in callers(tmp_path))
