"""compare: try every method, certify the best files, recommend, and write the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch

from netpact.comparisons.costs import (
    Allowance,
    Forecast,
    allow,
    certified_files,
    check_all,
    check_seconds,
    forecast,
)
from netpact.comparisons.explaining import Explanation, explain
from netpact.comparisons.options import CompareOptions
from netpact.comparisons.page import render_comparison
from netpact.comparisons.planning import Trial, plan_trials
from netpact.comparisons.recommending import recommend
from netpact.comparisons.result import Comparison, LeftOut
from netpact.comparisons.settling import (
    certified_row,
    certify_file,
    choose_certified,
    counting_by,
    is_intact,
    verify_file,
)
from netpact.comparisons.subject import is_in_memory, keep_subject
from netpact.comparisons.trying import Look, look_at_original, read_row, time_file, try_setting
from netpact.core.checks import check_instance
from netpact.core.errors import PactError
from netpact.core.files import as_path, check_place, write_atomically
from netpact.core.json import JsonValue, encode_json
from netpact.core.version import __version__
from netpact.datasets import Data, as_data, load_data
from netpact.models import AnyModule, as_module
from netpact.reports.rows import Provenance, Row, find_best
from netpact.runs import MISSING, Engine, Inline, ResultStore, Task, TaskDone

PAGE, RECORD = "index.html", "comparison.json"
_PLAIN = "quantize"  # a method that does next to nothing but round
_LONG = 20.0  # seconds


@dataclass(frozen=True)
class Step:
    """Something is done: `done` of `total` in this stage.

    rows   all that is known, the original network first
    share  of the whole comparison that is done, by the time that was forecast; None before there is a forecast
    """

    stage: str
    done: int
    total: int
    rows: tuple[Row, ...]
    share: float | None = None


def compare(
    model: AnyModule,
    data: Data | object,
    options: CompareOptions | None = None,
    *,
    out: str | Path = "netpact-compare",
    engine: Engine | None = None,
    own: str = "",
    command: str = "",
    announce: Callable[[Forecast], None] | None = None,
    progress: Callable[[Step], None] | None = None,
) -> Comparison:
    """Compress one trained network by every method at several sizes; compare the files; write a page with an advice.

    model     a trained module, or a weight file of ours
    data      a data set by name, or anything that as_data takes
    out       folder of the files, the page and all results: the same call resumes there and repeats nothing finished
    engine    netpact.runs.Processes(jobs) or another; default: one after the other, in this process
    own       for a module of your own and several processes: package.module:function that makes it
    announce  hears how long it will take, before the bulk of the work
    """
    chosen = check_instance(CompareOptions() if options is None else options, CompareOptions, where="options")
    folder = as_path(out, where="out")
    check_place(folder / PAGE)
    name, loaded = _load(data)
    module = as_module(model)
    folder.mkdir(parents=True, exist_ok=True)
    source = keep_subject(module, loaded, model=own, data_name=name, folder=folder)
    run = _Run(source, loaded, chosen, folder, engine or Inline(), announce, progress)
    with _one_thread():
        rows, left_out = run.work()
        explained = explain(module, loaded, samples=chosen.counted(loaded.train.count), seed=chosen.seed)
    run.tell("measure", 1, 1)
    return _finish(rows, left_out, explained, run, command)


@contextmanager
def _one_thread() -> Iterator[None]:
    """As the processes of an engine have: what is trained depends on the order of sums."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _load(data: Data | object) -> tuple[str, Data]:
    """With the name under which other processes find the same data; "" if there is none."""
    if isinstance(data, (str, Path)):
        return str(data), load_data(data)
    loaded = as_data(data)
    try:
        same = load_data(loaded.name).train.fingerprint() == loaded.train.fingerprint()
    except PactError:
        same = False
    return loaded.name if same else "", loaded


class _Run:
    """The stages of one comparison: the original, a first file to forecast from, all others, certificates, speeds."""

    def __init__(
        self,
        source: Mapping[str, JsonValue],
        data: Data,
        options: CompareOptions,
        folder: Path,
        engine: Engine,
        announce: Callable[[Forecast], None] | None,
        progress: Callable[[Step], None] | None,
    ) -> None:
        self.source, self.data, self.options, self.folder = source, data, options, folder
        if is_in_memory(source) and not isinstance(engine, Inline):
            raise PactError(
                "a module or data in memory can be compared in one process only",
                where="engine",
                hint="give the network as package.module:function and the data by name",
            )
        self._engine, self._announce, self._progress = engine, announce, progress
        self._jobs = getattr(engine, "jobs", 1) or 1
        self._store = ResultStore(folder / "run")
        self.rows: dict[str, Row] = {}
        self.left_out: list[LeftOut] = []
        self._began = time.monotonic()
        self._forecast: Forecast | None = None
        self._finished: set[str] = set()

    def work(self) -> tuple[list[Row], list[LeftOut]]:
        trials, self.left_out = plan_trials(self.options)
        look, known = self._begin()
        allowance = allow(
            trials,
            self.options,
            pass_seconds=known["pass_seconds"],
            samples=self.data.train.count,
            jobs=self._jobs,
        )
        trials = [allowance.apply(trial) for trial in trials]
        self._try(trials, replace(look, trained=allowance.samples), allowance, known["pass_seconds"])
        self._drop_copies()
        self._certify(known["pass_seconds"])
        self._time()
        return list(self.rows.values()), self.left_out

    def tell(self, stage: str, done: int, total: int) -> None:
        if self._progress is not None:
            told = self._forecast
            share = None if told is None else told.share(stage, done / max(1, total), self._finished)
            self._progress(Step(stage, done, total, tuple(self.rows.values()), share))

    def _begin(self) -> tuple[Look, dict[str, Any]]:
        samples = self.options.counted(self.data.train.count)
        task = self._task("original", look_at_original, samples=samples)
        known = self._run([task], "original", Inline())[0]
        self.rows["original"] = read_row(known)
        look = Look(samples, self.data.train.count, self.data.train.count, str(known["arithmetic"]), self.options.delta)
        return look, known

    def _try(self, trials: Sequence[Trial], look: Look, allowance: Allowance, pass_seconds: float) -> None:
        """One that rounds only by itself first, which tells how long the others will take."""
        tasks = [
            self._task(trial.key, try_setting, trial=trial.to_json(), look=look.to_json(), out=str(self.folder))
            for trial in trials
        ]
        names = dict(zip((task.key for task in tasks), trials, strict=True))

        def show(task: Task, result: Mapping[str, Any]) -> None:
            self._finished.add(task.key)
            if "refused" not in result:
                self.rows[task.key] = read_row(result)

        waiting = [task for task in tasks if self._store.find(task) is None]
        plain = [task for task in tasks if names[task.key].method == _PLAIN] or tasks
        if tasks:
            self._run(plain[:1], "compress", Inline(), show)
        first = self._store.find(plain[0]) if tasks else None
        self._forecast = forecast(
            [names[task.key] for task in waiting],
            self.options,
            allowance,
            trial_seconds=0.0 if first is None else first.seconds,
            **self._costs(pass_seconds),
        )
        if self._announce is not None:
            self._announce(self._forecast)
        results = self._run(tasks, "compress", self._engine, show)
        # In the order of the plan, whatever finished first; a method that no setting of was taken is named once.
        found = {task.key: self.rows[task.key] for task in tasks if task.key in self.rows}
        self.rows = {"original": self.rows["original"], **found}
        refused: dict[tuple[str, str], list[str]] = {}
        for task, result in zip(tasks, results, strict=True):
            if "refused" in result:
                refused.setdefault((names[task.key].method, str(result["refused"])), []).append(task.key)
        for (method, reason), keys in refused.items():
            every = all(trial.method != method or key in keys for key, trial in names.items())
            self.left_out += [LeftOut(method if every else key, reason) for key in (keys[:1] if every else keys)]

    def _drop_copies(self) -> None:
        """Settings that gave the same file as another one."""
        first: dict[str, str] = {}
        for key, row in list(self.rows.items())[1:]:
            same = first.setdefault(row.message_sha256, key)
            if same != key:
                self.left_out.append(LeftOut(key, f"the same file as {same}"))
                del self.rows[key]

    def _certify(self, pass_seconds: float) -> None:
        keys = {row.name: key for key, row in self.rows.items()}
        rows = list(self.rows.values())
        most = certified_files(self.options, **self._costs(pass_seconds))
        chosen = choose_certified(rows, most=most, tolerance=self.options.tolerance)
        places = [keys[row.name] for row in chosen]
        tasks = [
            self._task(f"certify {key}", certify_file, **self._file(key), **self._counts, delta=self.options.delta)
            for key in places
        ]

        def show(task: Task, result: Mapping[str, Any]) -> None:
            key = task.key.partition(" ")[2]
            if "refused" not in result:
                self.rows[key] = certified_row(self.rows[key], self.folder / f"{key}.pact")

        results = dict(zip(places, self._settle(tasks, "certify", pass_seconds, show), strict=True))
        refused = {key: str(result["refused"]) for key, result in results.items() if "refused" in result}
        self.left_out += [LeftOut(f"certificate of {key}", reason) for key, reason in refused.items()]
        took = {task.key.partition(" ")[2]: self._store.find(task) for task in tasks}
        self._verify({key: found.seconds for key, found in took.items() if found and key not in refused}, pass_seconds)

    @property
    def _counts(self) -> dict[str, JsonValue]:
        return {"counts": str(self.folder / "run" / "counts")}

    def _verify(self, took: Mapping[str, float], pass_seconds: float) -> None:
        """All, where that takes a small share of the time; else the one that the page will speak of, if it fits.

        took  files with a certificate, and the seconds that it took
        """
        keys = list(took)
        if not check_all(self.options, len(keys), **self._costs(pass_seconds)):
            best = find_best([self.rows[key] for key in keys])
            keys = [key for key in keys if self.rows[key] is best]
            if self.options.certified is None and not all(self._has_time(took[key]) for key in keys):
                reason = f"{self._too_short}: netpact verify {keys[0]}.pact --data {self.data.name}"
                self.left_out.append(LeftOut(f"check of {keys[0]}", reason))
                return
        tasks = [
            self._task(f"verify {key}", verify_file, row=self.rows[key].to_json(), **self._file(key), **self._counts)
            for key in keys
        ]

        def show(task: Task, result: Mapping[str, Any]) -> None:
            self.rows[task.key.partition(" ")[2]] = read_row(result)

        self._settle(tasks, "verify", pass_seconds, show)

    def _settle(
        self, tasks: Sequence[Task], stage: str, pass_seconds: float, show: Callable[[Task, Any], None]
    ) -> list[Any]:
        """Short counts are dealt out. Long ones come one after the other, each shared by all workers.

        A certificate after the first is left out where one more like the longest would not fit into the time.
        """
        if check_seconds(pass_seconds, self._costs(pass_seconds)["samples"]) < _LONG:
            return self._run(tasks, stage, self._engine, show)
        results: list[Any] = []
        longest = 0.0
        with counting_by(None if isinstance(self._engine, Inline) else self._engine):
            for task in tasks:
                waits = results and stage == "certify" and self._store.find(task) is None
                if waits and self.options.certified is None and not self._has_time(2 * longest):
                    results.append({"refused": f"{self._too_short}: give --certified or --budget"})
                    continue
                began = time.monotonic()
                results += self._run([task], stage, Inline(), show, before=len(results), total=len(tasks))
                longest = max(longest, time.monotonic() - began)
        return results

    @property
    def _too_short(self) -> str:
        return f"{self.options.minutes:g} minutes were not enough for it"

    def _has_time(self, seconds: float) -> bool:
        return time.monotonic() - self._began + seconds <= 60 * self.options.minutes

    def _time(self) -> None:
        """One after the other, in this process, when nothing else runs."""
        tasks = [self._task(f"speed {key}", time_file, **self._file(key)) for key in self.rows]

        def show(task: Task, result: float) -> None:
            key = task.key.partition(" ")[2]
            self.rows[key] = replace(self.rows[key], samples_per_second=result)

        self._run(tasks, "speed", Inline(), show)

    def _costs(self, pass_seconds: float) -> dict[str, Any]:
        """What a certificate takes: it counts the test samples too."""
        tested = 0 if self.data.test is None else self.data.test.count
        return {"pass_seconds": pass_seconds, "samples": self.data.train.count + tested, "jobs": self._jobs}

    def _file(self, key: str) -> dict[str, JsonValue]:
        row = self.rows[key]
        return {"file": "" if row.file is None else str(self.folder / row.file), "message": row.message_sha256}

    def _task(self, key: str, function: Callable[..., Any], **arguments: Any) -> Task:
        return Task(key, function, {"source": dict(self.source), **arguments}, version=__version__)

    def _run(
        self,
        tasks: Sequence[Task],
        stage: str,
        engine: Engine,
        show: Callable[[Task, Any], None] | None = None,
        *,
        before: int = 0,
        total: int | None = None,
    ) -> list[Any]:
        """Results in the order of the tasks. One whose file is gone or changed counts for nothing.

        before, total  of the stage, where these tasks are a part of it
        """
        by_key = {task.key: task for task in tasks}
        for task in tasks:
            stored = self._store.get(task)
            if stored is not MISSING and isinstance(stored, dict) and not is_intact(stored):
                self._store.discard(task)

        def hear(done: TaskDone) -> None:
            task = by_key[done.key]
            result = self._store.get(task)
            if show is not None and result is not MISSING:
                show(task, result)
            self.tell(stage, before + done.done, total or done.total)

        results = []
        for outcome in engine.run(tasks, self._store, hear):
            # What is no error of ours is a fault of the method on this network: it is named, the others go on.
            failed = {"refused": f"it failed: {outcome.error}"}
            if outcome.error is not None and stage not in ("compress", "certify"):
                raise PactError(outcome.error, where=outcome.task.key)
            results.append(outcome.result if outcome.error is None else failed)
        return results


def _finish(rows: list[Row], left_out: list[LeftOut], explained: Explanation, run: _Run, command: str) -> Comparison:
    data, options, folder = run.data, run.options, run.folder
    provenance = Provenance(
        version=__version__,
        seed=options.seed,
        data_name=data.name,
        data_fingerprint=data.train.fingerprint(),
        samples=data.train.count,
        delta=options.delta,
        command=command or "netpact.compare",
        created=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    )
    found = Comparison(
        rows=tuple(replace(row, estimates=explained.by_paper) if row.original else row for row in rows),
        left_out=tuple(left_out),
        recommendation=recommend(rows, tolerance=options.tolerance),
        provenance=provenance,
        page=folder / PAGE,
    )
    write_atomically(folder / RECORD, encode_json(found.to_json(), where=RECORD).encode())
    page = render_comparison(found, explained, folder=folder)
    write_atomically(found.page, page.encode())
    return found
