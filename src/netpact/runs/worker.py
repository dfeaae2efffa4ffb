"""The parent's side of the pipe: one worker process and the task it has in hand."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing import get_context, resource_tracker
from time import perf_counter
from types import ModuleType

from netpact.runs.attempt import Attempt
from netpact.runs.parcels import staying_after
from netpact.runs.serving import READY, contents_of, read_answer, send_call, serve, write_call
from netpact.runs.task import Task

# Long enough for an interpreter with large libraries to shut down.
_GRACE_SECONDS = 5.0
_THREAD_SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


class Worker:
    """One process, started with spawn: forking a process that has threads (as torch does) can lock up.

    place  which task of the run it has in hand
    tries  how often that task has been tried, this time included
    ready  whether the process came up and asked for work
    """

    def __init__(self, task: Task, *, place: int, tries: int) -> None:
        # Not a daemon: daemonic processes may not have children, and a task may load data with processes of its own.
        context = get_context("spawn")
        self.connection, self._far_end = context.Pipe()
        self.process = context.Process(target=serve, args=(self._far_end,), daemon=False)
        self.ready = False
        self._there: list[str] = []  # names of the parcels that stay with it
        self.take(task, place=place, tries=tries)

    def take(self, task: Task, *, place: int, tries: int) -> None:
        self._task, self.place, self.tries = task, place, tries
        self._since = perf_counter()
        if self.ready:
            self._send()

    def start(self, *, threads: int, main: bool) -> None:
        """main: whether the worker imports the script of this process, as functions that stand there need."""
        with _thread_settings(threads), nullcontext() if main else _without_main(), _interrupts_held_back():
            self.process.start()
        # The child has its own copy now; as long as ours is open, its death would not show as the end of the pipe.
        self._far_end.close()

    def receive(self) -> Attempt | None:
        """The answer if there is one, None if there is not yet. EOFError when the worker is gone."""
        # Asked in this order: what a worker sent before it died is still in the pipe and counts.
        alive = self.process.is_alive()
        try:
            if not self.connection.poll():
                if alive:
                    return None
                raise EOFError
            message = self.connection.recv_bytes()
        except OSError as error:  # the worker died in the middle of a message
            raise EOFError from error
        if message != READY:
            return read_answer(message)
        self.ready = True
        self._since = perf_counter()
        self._send()
        return None

    def hang_up(self) -> None:
        """Tell the worker that there is no more work; it ends by itself."""
        self.connection.close()

    def stop(self) -> None:
        """Do not wait for the task in hand."""
        if self.process.pid is not None:
            self.process.terminate()

    def bury(self) -> int:
        """Wait until the process has ended, however it takes, and give its exit code (-n: killed by signal n).

        May be called again: an interrupt can come at any point.
        """
        self.connection.close()
        self._far_end.close()
        if self.process.pid is None:
            return 0
        for insist in (self.process.terminate, self.process.kill):
            self.process.join(_GRACE_SECONDS)
            if self.process.exitcode is not None:
                break
            insist()
        self.process.join()
        return self.process.exitcode or 0

    def seconds(self) -> float:
        return perf_counter() - self._since

    def _send(self) -> None:
        # What goes wrong in here is not the worker's fault.
        call, contents = write_call(self._task), contents_of(self._task, but=self._there)
        # A worker that died meanwhile is found by the next receive().
        with suppress(OSError):
            send_call(self.connection, call, contents)
            self._there = staying_after(self._there, [one.name for one in self._task.parcels if one.stays])


@contextmanager
def _thread_settings(threads: int) -> Iterator[None]:
    """Numerical libraries read these once, when they are loaded: they have to be there when the process starts."""
    before = {name: os.environ.get(name) for name in _THREAD_SETTINGS}
    try:
        for name, value in before.items():
            # A smaller number that the user has set is kept.
            given = int(value) if value is not None and value.isdecimal() else 0
            os.environ[name] = str(min(threads, given) if given > 0 else threads)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _without_main() -> Iterator[None]:
    """A script whose top level starts a run, without `if __name__ == "__main__":`, would start it again in a worker."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """The child inherits the blocked signal: a Ctrl-C while it imports does not fill the screen with its traceback.

    In this process a Ctrl-C takes effect right after the start.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # The first start would launch this one, and that unblocks the signal again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
