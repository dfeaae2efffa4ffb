"""Going through shards: here or on an engine's workers, each shard once, with what is finished kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from netpact.core.errors import PactError
from netpact.core.json import JsonValue, decode_json, encode_json
from netpact.core.progress import Progress
from netpact.core.version import __version__
from netpact.runs.engine import Engine, TaskDone
from netpact.runs.parcels import Parcel, at_hand
from netpact.runs.store import NoStore, ResultStore, Store
from netpact.runs.task import Task
from netpact.shards.cutting import Shards
from netpact.shards.shard import Shard, open_shard

# Within a shard that is gone through in this process: called with the samples that are done.
_REPORT: ContextVar[Callable[[int], None] | None] = ContextVar("_REPORT", default=None)


@dataclass(frozen=True)
class Execution:
    """Who goes through shards, and what is kept. The results are the same for every choice.

    engine  whose workers; None: this process, one shard after the other
    folder  where finished shards are kept: after an interrupt nothing finished is done again
    """

    engine: Engine | None = None
    folder: Path | None = None


HERE = Execution()


def shard_done(samples: int) -> None:
    """So many samples of the shard in hand are done."""
    report = _REPORT.get()
    if report is not None:
        report(samples)


def go_through(
    shards: Shards,
    function: Callable[..., JsonValue],
    arguments: Mapping[str, JsonValue],
    *,
    parcels: Sequence[Parcel] = (),
    which: range | None = None,
    execution: Execution = HERE,
    progress: Progress | None = None,
) -> list[JsonValue]:
    """What the function gives for each shard, in their order. The first that fails ends it.

    function   called with the name of the shard's parcel, `shard`, and these arguments; it stands at the top level of a
               module, and depends on nothing else
    parcels    what it needs beside; their names are among the arguments. Results are kept if the names last
    which      shards; default: all
    """
    chosen = range(len(shards.parts)) if which is None else which
    kept = execution.folder is not None and all(one.lasting for one in parcels)
    tasks = [_task(shards, index, function, arguments, parcels, kept=kept) for index in chosen]
    store = ResultStore(execution.folder) if execution.folder is not None and kept else NoStore()
    parts = [shards.parts[index] for index in chosen]
    sizes = {task.key: part.stop - part.start for task, part in zip(tasks, parts, strict=True)}
    account = _Account(sizes, parts[0].start if parts else 0, shards.samples.count, progress)
    # For one shard no worker is started: it would take longer.
    if execution.engine is None or len(tasks) <= 1:
        results = [_go_here(task, store, account) for task in tasks]
    else:
        results = [one.result for one in execution.engine.run(tasks, store, account.note)]
    if chosen.stop == len(shards.parts):
        shards.finish()
    return results


def _task(
    shards: Shards,
    index: int,
    function: Callable[..., JsonValue],
    arguments: Mapping[str, JsonValue],
    parcels: Sequence[Parcel],
    *,
    kept: bool,
) -> Task:
    name = shards.name(index, kept=kept)
    own = Parcel(name, lambda: shards.read(index), Shard.to_bytes, open_shard)
    part = shards.parts[index]
    key = f"{function.__name__} {part.start}-{part.stop}"
    return Task(key, function, {**arguments, "shard": name}, version=__version__, parcels=(*parcels, own))


def _go_here(task: Task, store: Store, account: _Account) -> JsonValue:
    """As Inline does it, but an error of the network's own code comes through as it is."""
    found = store.find(task)
    if found is not None:
        account.add(task.key)
        return found.result
    token = _REPORT.set(account.report)
    try:
        with at_hand(task.parcels):
            made = task.function(**task.fresh_arguments())
    finally:
        _REPORT.reset(token)
    result = decode_json(encode_json(made, where="result"), where="result")
    store.put(task, result, seconds=0.0)
    account.add(task.key)
    return result


class _Account:
    """Turns shards that are done into samples that are done."""

    def __init__(self, sizes: Mapping[str, int], done: int, total: int, progress: Progress | None) -> None:
        self._sizes, self._done, self._total, self._progress = sizes, done, total, progress
        self._told = -1

    def note(self, task: TaskDone) -> None:
        if task.error is not None:
            raise PactError(task.error)
        self.add(task.key)

    def add(self, key: str) -> None:
        self._done += self._sizes[key]
        self.report(0)

    def report(self, more: int) -> None:
        if self._progress is not None and self._done + more != self._told:
            self._told = self._done + more
            self._progress(self._told, self._total)
