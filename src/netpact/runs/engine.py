"""What every engine takes and gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from netpact.core.json import JsonValue
from netpact.runs.store import Store
from netpact.runs.task import Task


@dataclass(frozen=True)
class Outcome:
    """How one task ended. A task failed exactly when `error` is not None; failures are not stored.

    seconds  time inside the function; for a reused result, the time it took when it was computed
    """

    task: Task
    result: JsonValue
    error: str | None
    seconds: float
    reused: bool
    traceback: str | None = None

    def to_json(self) -> dict[str, JsonValue]:
        return {
            "key": self.task.key,
            "digest": self.task.digest,
            "result": self.result,
            "error": self.error,
            "traceback": self.traceback,
            "seconds": self.seconds,
            "reused": self.reused,
        }


@dataclass(frozen=True)
class TaskDone:
    """One more task is done: `done` of `total`, the last one named `key`. error: why it failed, if it has."""

    done: int
    total: int
    key: str
    reused: bool
    error: str | None = None


ProgressCallback: TypeAlias = Callable[[TaskDone], None]


class Engine(Protocol):
    """Runs tasks, reusing what the store holds, storing each result as soon as it is there.

    Outcomes come in the order of the tasks. A task that fails does not stop the others.
    """

    def run(self, tasks: Sequence[Task], store: Store, progress: ProgressCallback | None = None) -> list[Outcome]: ...
