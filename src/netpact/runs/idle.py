"""Workers between two runs: one that has loaded its libraries and a network need not do it again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netpact.runs.worker import Worker  # takes a moment to import

# By the number of threads; None outside of every block.
_IDLE: ContextVar[dict[int, list[Worker]] | None] = ContextVar("_IDLE", default=None)


@contextmanager
def kept_workers() -> Iterator[None]:
    """Within this block, workers of Processes that have no more to do wait for the next run instead of ending."""
    if _IDLE.get() is not None:
        yield
        return
    idle: dict[int, list[Worker]] = {}
    token = _IDLE.set(idle)
    try:
        yield
    finally:
        _IDLE.reset(token)
        waiting = [worker for workers in idle.values() for worker in workers]
        for worker in waiting:
            worker.hang_up()
        for worker in waiting:
            worker.bury()


def take_idle(threads: int) -> Worker | None:
    workers = (_IDLE.get() or {}).get(threads)
    return workers.pop() if workers else None


def leave_idle(worker: Worker, threads: int) -> bool:
    """Whether it waits for the next run: outside of a block it does not."""
    idle = _IDLE.get()
    if idle is None:
        return False
    idle.setdefault(threads, []).append(worker)
    return True
