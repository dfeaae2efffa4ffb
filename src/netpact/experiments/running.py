"""run_experiment: train and measure the networks of an experiment, judge the paper's findings, write a page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from netpact.core.checks import check_integer
from netpact.core.errors import PactError
from netpact.core.files import as_path, check_place, write_atomically
from netpact.core.version import __version__
from netpact.experiments.experiment import Experiment
from netpact.experiments.findings import Finding
from netpact.experiments.forecasting import Forecast, forecast_simulations, forecast_training
from netpact.experiments.pages import render_experiment
from netpact.experiments.plan import EXPERIMENTS, Plan
from netpact.experiments.presets import Case, Preset, SimulationPreset, choose_data
from netpact.experiments.study import BaseStudy, Setting, SimulationSetting
from netpact.experiments.studying import open_data
from netpact.runs import Engine, Processes, ResultStore, Task, TaskDone, processors


def run_experiment(
    name: str,
    *,
    preset: str = "quick",
    seeds: int = 3,
    out: str | Path,
    data_dir: str | Path | None = None,
    engine: Engine | None = None,
    announce: Callable[[Forecast], None] | None = None,
    progress: Callable[[TaskDone], None] | None = None,
) -> Experiment:
    """An experiment of a paper by name, out of `netpact.experiments.EXPERIMENTS`; writes `out/NAME-PRESET.html`.

    Everything finished is kept in `out` and not done again: a killed run goes on, and experiments that need the same
    networks share them.

    preset    quick: minutes; full: the setting of the paper, which takes days without a GPU; digits: a trial, seconds
    seeds     how many networks of each kind; a finding counts as reproduced if its rule holds in all of them
    data_dir  where cifar10.npz or mnist.npz lie, if not in the usual folders
    engine    default: a process for each processor, with one thread each. Results do not depend on the number of
              processes; with another number of threads the last digits may differ
    announce  called before the work starts with a forecast of how long the training takes
    """
    work = _open(name, preset, seeds, out, data_dir)
    if announce is not None:
        announce(work.forecast([one for one, task in work.tasks if work.store.find(task) is None]))
    studies = _run(work, Processes(processors(), threads=1) if engine is None else engine, progress)
    used = ", ".join(dict.fromkeys(setting.used for setting, _ in work.tasks))
    count = range(seeds)
    result = Experiment(
        name=name,
        preset=preset,
        version=__version__,
        seeds=tuple(count),
        data=used,
        note=work.setting.note(used),
        studies=tuple(studies),
        findings=_judge(work.plan, studies, count),
        command=_command(name, preset, seeds, work.folder, data_dir),
        page=work.page,
    )
    about = f"{work.plan.title} ({work.plan.paper})"
    write_atomically(result.page, render_experiment(result, work.plan.show(result), about=about).encode())
    return result


AnySetting: TypeAlias = Setting | SimulationSetting
Forecaster: TypeAlias = Callable[[Sequence[Any]], Forecast]


@dataclass(frozen=True)
class _Work:
    """All that is known before the work starts."""

    plan: Plan
    setting: Preset | SimulationPreset
    folder: Path
    page: Path
    store: ResultStore
    tasks: list[tuple[AnySetting, Task]]
    forecast: Forecaster


def _open(name: str, preset: str, seeds: int, out: str | Path, data_dir: str | Path | None) -> _Work:
    """Bad input dies here, before anything is made."""
    plan = EXPERIMENTS.look_up(name)
    setting = plan.preset(preset)
    check_integer(seeds, where="seeds", least=1)
    folder = as_path(out, where="out")
    if data_dir is not None and not Path(data_dir).is_dir():
        raise PactError("this folder does not exist", where=f"data_dir {data_dir}")
    page = check_place(folder / f"{name}-{preset}.html")
    store = ResultStore(folder / "run")
    files = str(folder / f"networks-{preset}")
    if isinstance(setting, SimulationPreset):
        make, forecast = _drawn(setting, files)
    else:
        make, forecast = _trained(plan, setting, data_dir, files)
    tasks = []
    for seed in range(seeds):
        for study in plan.studies:
            one = make(study, seed)
            key = f"{preset}-{study}-{seed}"
            tasks.append((one, Task(key, plan.task, {"setting": one.to_json()}, version=__version__)))
    return _Work(plan, setting, folder, page, store, tasks, forecast)


def _trained(
    plan: Plan, preset: Preset, data_dir: str | Path | None, files: str
) -> tuple[Callable[[str, int], AnySetting], Forecaster]:
    """The setting of a study and a seed, and how long some of them take."""
    source = choose_data(preset.data, data_dir)
    opened = cache(lambda name, limit: open_data(name, limit=limit, tested=preset.tested))

    def of_case(case: Case) -> str:
        """A data set of its own that is not on this machine is replaced by that of the preset."""
        return choose_data((case.data, *preset.data), data_dir) if case.data else source

    def make(study: str, seed: int) -> Setting:
        case = preset.cases[study]
        return Setting(
            study=study,
            data=of_case(case),
            fingerprint=opened(of_case(case), case.limit).train.fingerprint(),
            tested=preset.tested,
            case=case,
            seed=seed,
            out=files,
        )

    def forecast(waiting: Sequence[Setting]) -> Forecast:
        cases = [replace(one.case, epochs=plan.epochs(one.study, one.case)) for one in waiting]
        return forecast_training([(case, opened(of_case(case), case.limit)) for case in cases])

    return make, forecast


def _drawn(preset: SimulationPreset, files: str) -> tuple[Callable[[str, int], AnySetting], Forecaster]:
    def make(study: str, seed: int) -> SimulationSetting:
        return SimulationSetting(study=study, case=asdict(preset.cases[study]), seed=seed, out=files)

    return make, lambda waiting: forecast_simulations([preset.cases[one.study] for one in waiting], preset.time)


def _run(work: _Work, engine: Engine, progress: Callable[[TaskDone], None] | None) -> list[BaseStudy]:
    studies = []
    for outcome in engine.run([task for _, task in work.tasks], work.store, progress):
        if outcome.error is not None or not isinstance(outcome.result, dict):
            raise PactError(str(outcome.error), where=outcome.task.key)
        studies.append(work.plan.record.read(outcome.result))
    return studies


def _judge(plan: Plan, studies: Sequence[BaseStudy], seeds: range) -> tuple[Finding, ...]:
    by_seed = [{one.study: one for one in studies if one.seed == seed} for seed in seeds]
    return tuple(question.judge(by_seed) for question in plan.questions)


def _command(name: str, preset: str, seeds: int, folder: Path, data_dir: str | Path | None) -> str:
    words = ["netpact", "experiment", name, "--preset", preset, "--seeds", str(seeds), "--out", str(folder)]
    return shlex.join([*words, *([] if data_dir is None else ["--data-dir", str(data_dir)])])
