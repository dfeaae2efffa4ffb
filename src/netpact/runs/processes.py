"""The engine of this machine: worker processes, each of which may die without harm to the others."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait

from netpact.core.checks import check_integer
from netpact.core.errors import PactError
from netpact.runs.attempt import Attempt
from netpact.runs.engine import Outcome, ProgressCallback
from netpact.runs.idle import leave_idle, take_idle
from netpact.runs.store import Store
from netpact.runs.tally import Tally
from netpact.runs.task import Task
from netpact.runs.worker import Worker

_TRIES = 2
# A process that a task leaves behind can hold the dead worker's pipes open: look at the worker itself now and then.
_LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Processes:
    """Up to `jobs` tasks at a time. A task whose worker dies is tried once more in a new worker, then it has failed.

    threads  that each worker computes with; default: the processors are shared out
    """

    jobs: int
    threads: int = 0

    def __post_init__(self) -> None:
        check_integer(self.jobs, where="jobs", least=1)
        check_integer(self.threads, where="threads", least=0)

    def run(self, tasks: Sequence[Task], store: Store, progress: ProgressCallback | None = None) -> list[Outcome]:
        crew = _Crew(Tally(tasks, store, progress), self)
        try:
            crew.work()
        except BaseException:
            # Ctrl-C, a full disk, an error in the caller's progress function: leave no process behind.
            crew.stop()
            raise
        finally:
            crew.bury()
        return crew.tally.outcomes()


class _Crew:
    """The workers of one run: those with a task in hand, and those that were sent home."""

    def __init__(self, tally: Tally, engine: Processes) -> None:
        self.tally = tally
        self._jobs = engine.jobs
        self._threads = engine.threads or max(1, processors() // engine.jobs)
        self._main = any(task.function.__module__ == "__main__" for task in tally.tasks)
        self._busy: list[Worker] = []
        self._leaving: list[Worker] = []

    def work(self) -> None:
        while self._busy or self.tally.waiting:
            while len(self._busy) < self._jobs and self.tally.waiting:
                self._start(self.tally.waiting.popleft(), tries=1)
            handles = [handle for worker in self._busy for handle in (worker.connection, worker.process.sentinel)]
            wait(handles, timeout=_LOOK_SECONDS)
            for worker in tuple(self._busy):
                self._attend(worker)

    def stop(self) -> None:
        for worker in (*self._busy, *self._leaving):
            worker.stop()

    def bury(self) -> None:
        for worker in (*self._busy, *self._leaving):
            worker.bury()

    def _start(self, place: int, *, tries: int) -> None:
        idle = None if self._main else take_idle(self._threads)
        if idle is not None:
            self._busy.append(idle)
            idle.take(self.tally.tasks[place], place=place, tries=tries)
            return
        worker = Worker(self.tally.tasks[place], place=place, tries=tries)
        # On the list before it starts: an interrupt in between must find it there.
        self._busy.append(worker)
        worker.start(threads=self._threads, main=self._main)

    def _attend(self, worker: Worker) -> None:
        try:
            attempt = worker.receive()
        except EOFError:
            self._replace(worker)
            return
        if attempt is None:
            return
        self.tally.finish(worker.place, attempt)
        if self.tally.waiting:
            place = self.tally.waiting.popleft()
            worker.take(self.tally.tasks[place], place=place, tries=1)
        else:
            self._busy.remove(worker)
            # A worker that has imported the caller's script may know another one than the next run.
            if self._main or not leave_idle(worker, self._threads):
                self._leaving.append(worker)
                worker.hang_up()

    def _replace(self, dead: Worker) -> None:
        seconds, code = dead.seconds(), dead.bury()
        self._busy.remove(dead)
        if not dead.ready and code >= 0:
            # Not the task's doing, and the next worker would end the same way.
            raise PactError(
                f"a worker process ended with exit code {code} before it could take a task; its message is above",
                where="processes",
                hint='a script that starts a run needs `if __name__ == "__main__":` around it; or use one job',
            )
        if dead.tries < _TRIES:
            self._start(dead.place, tries=dead.tries + 1)
        else:
            self.tally.finish(dead.place, Attempt(error=_cause_of_death(code, dead.tries), seconds=seconds))


def _cause_of_death(code: int, tries: int) -> str:
    if code >= 0:
        cause = f"ended with exit code {code}"
    else:
        known = {int(number): number.name for number in signal.Signals}
        cause = f"was killed by {known.get(-code, f'signal {-code}')}"
        if known.get(-code) == "SIGKILL":
            cause += " (often the system's answer to too little memory: try fewer jobs)"
    return f"the worker process {cause} while it ran this task, tried {tries} times"


def processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
