"""The engine without processes, and the choice between the engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from netpact.core.checks import check_integer
from netpact.runs.attempt import attempt_call
from netpact.runs.cluster import Ray
from netpact.runs.engine import Engine, Outcome, ProgressCallback
from netpact.runs.parcels import at_hand
from netpact.runs.processes import Processes, processors
from netpact.runs.store import Store
from netpact.runs.tally import Tally
from netpact.runs.task import Task


@dataclass(frozen=True)
class Inline:
    """Runs tasks one after the other in this process: for one job, and for debugging.

    A task that kills its process takes the run with it here; what was finished stays in the store.
    """

    def run(self, tasks: Sequence[Task], store: Store, progress: ProgressCallback | None = None) -> list[Outcome]:
        tally = Tally(tasks, store, progress)
        while tally.waiting:
            place = tally.waiting.popleft()
            task = tally.tasks[place]
            with at_hand(task.parcels):
                tally.finish(place, attempt_call(task.function, task.fresh_arguments()))
        return tally.outcomes()


# By name, as --engine chooses: made from the number of jobs (0: what the engine has room for), the threads of each, and
# the address of a cluster.
ENGINES: Mapping[str, Callable[[int, int, str], Engine]] = {
    "processes": lambda jobs, threads, address: Processes(jobs or processors(), threads),
    "inline": lambda jobs, threads, address: Inline(),
    "ray": lambda jobs, threads, address: Ray(address or "auto", jobs, threads or 1),
}


def engine_for(jobs: int) -> Engine:
    """This process for one job, worker processes for more."""
    return Inline() if check_integer(jobs, where="jobs", least=1) == 1 else Processes(jobs)
