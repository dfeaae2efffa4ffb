"""The engine of a cluster: tasks on the nodes of a Ray cluster that is running already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from netpact.core.checks import check_instance, check_integer
from netpact.core.errors import PactError
from netpact.core.version import __version__
from netpact.runs.attempt import Attempt
from netpact.runs.engine import Outcome, ProgressCallback
from netpact.runs.parcels import Parcel
from netpact.runs.serving import answer_call, read_answer, write_call
from netpact.runs.store import Store
from netpact.runs.tally import Tally
from netpact.runs.task import Task

_RETRIES = 1  # of a task whose worker or node dies, as Processes has it
# More than can run: a node that has finished one finds the next there.
_QUEUED_FOR_EACH = 2
_LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Ray:
    """Runs tasks on an existing Ray cluster; results come back to this machine's store.

    The cluster's nodes need this version of netpact, and the files that tasks name under the same paths. A program that
    has called ray.init itself keeps its connection, with the runtime environment that it chose.

    address  HOST:PORT of the head, ray://HOST:PORT from outside; auto: the cluster that this machine belongs to
    jobs     tasks at a time; 0: as many as the cluster has processors for
    threads  that each task computes with; so many processors are asked for
    """

    address: str = "auto"
    jobs: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        check_instance(self.address, str, where="address")
        check_integer(self.jobs, where="jobs", least=0)
        check_integer(self.threads, where="threads", least=1)

    def run(self, tasks: Sequence[Task], store: Store, progress: ProgressCallback | None = None) -> list[Outcome]:
        tally = Tally(tasks, store, progress)
        _refuse_scripts(tally)
        if tally.waiting:
            ray = _import_ray()
            connected = ray.is_initialized()
            if not connected:
                _connect(ray, self.address)
            try:
                _Fleet(ray, tally, self).work()
            finally:
                if not connected:
                    ray.shutdown()
        return tally.outcomes()


class _Fleet:
    """The tasks of one run that the cluster has in hand."""

    def __init__(self, ray: ModuleType, tally: Tally, engine: Ray) -> None:
        self._ray = ray
        self.tally = tally
        settings = {name: str(engine.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        # A worker that numerical libraries were loaded in keeps its threads: Ray starts others for another setting.
        self._call = ray.remote(_answer).options(
            num_cpus=engine.threads, max_retries=_RETRIES, runtime_env={"env_vars": settings}
        )
        room = int(ray.cluster_resources().get("CPU", 0)) // engine.threads
        if room < 1:
            raise PactError(
                f"no node of the cluster can have {engine.threads} processors for one task",
                where="ray",
                hint="fewer --threads, or a cluster with more processors",
            )
        self._most = engine.jobs or _QUEUED_FOR_EACH * room
        self._places: dict[Any, int] = {}
        self._staying: dict[str, Any] = {}  # by name: where the cluster has a parcel's bytes, once on each node

    def work(self) -> None:
        try:
            while self._places or self.tally.waiting:
                while len(self._places) < self._most and self.tally.waiting:
                    place = self.tally.waiting.popleft()
                    self._places[self._send(self.tally.tasks[place])] = place
                for answer in self._ray.wait(list(self._places), timeout=_LOOK_SECONDS)[0]:
                    self.tally.finish(self._places.pop(answer), self._receive(answer))
        finally:
            # Ctrl-C, a full disk, an error in the caller's progress function: nothing goes on in the cluster.
            for answer in self._places:
                self._ray.cancel(answer, force=True)

    def _send(self, task: Task) -> Any:
        names = [one.name for one in task.parcels]
        return self._call.remote(write_call(task), __version__, names, *map(self._put, task.parcels))

    def _put(self, one: Parcel) -> Any:
        if one.name in self._staying:
            return self._staying[one.name]
        import numpy as np

        # An array is mapped into the worker from its node's memory; bytes would be copied for each task.
        place = self._ray.put(np.frombuffer(one.content(), dtype=np.uint8))
        if one.stays:
            self._staying[one.name] = place
        return place

    def _receive(self, answer: Any) -> Attempt:
        try:
            return read_answer(self._ray.get(answer))
        except self._ray.exceptions.RayTaskError as error:
            # The task's own errors are part of its answer: this one came before the task began.
            raise PactError(
                f"a node of the cluster cannot run netpact {__version__}: {error.cause}",
                where="ray",
                hint="install this version of netpact on every node",
            ) from error
        except self._ray.exceptions.RayError as error:
            first = str(error).strip().split("\n", 1)[0]
            return Attempt(error=f"{type(error).__name__} while the cluster ran this task, tried twice: {first}")


def _answer(call: bytes, version: str, names: Sequence[str], *contents: Any) -> bytes:
    """On a node."""
    if version != __version__:
        raise PactError(f"this node has netpact {__version__}, the run is by {version}", where="ray")
    return answer_call(call, {name: memoryview(content) for name, content in zip(names, contents, strict=True)})


def _refuse_scripts(tally: Tally) -> None:
    if any(task.function.__module__ == "__main__" for task in tally.tasks):
        raise PactError(
            "a node of a cluster cannot import the functions of a script",
            where="ray",
            hint="put the tasks' functions into a module that is installed on every node",
        )


def _import_ray() -> ModuleType:
    try:
        import ray
    except ImportError as error:
        raise PactError("Ray is not installed", where="ray", hint="pip install 'netpact[ray]'") from error
    return ray


def _connect(ray: ModuleType, address: str) -> None:
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise PactError(
            f"no Ray cluster answers: {str(error).strip().split(chr(10), 1)[0]}",
            where=f"address {address}",
            hint="`ray start --head` starts one on this machine, `ray status` tells whether it runs",
        ) from error
