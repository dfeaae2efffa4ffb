"""run_experiment: train and measure the networks of an experiment, judge the paper's findings, write a page."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path

from netpact.core.errors import PactError
from netpact.core.files import as_path, check_place, write_atomically
from netpact.core.version import __version__
from netpact.datasets import Data
from netpact.experiments.experiment import Experiment
from netpact.experiments.forecasting import Forecast, forecast_training
from netpact.experiments.pages import render_experiment
from netpact.experiments.presets import Preset, choose_data, find_preset
from netpact.experiments.questions import Plan, find_experiment
from netpact.experiments.records import Study, read_study
from netpact.experiments.studying import open_data, study_network
from netpact.runs import Inline, JsonValue, ResultStore, Task, TaskDone


def run_experiment(
    name: str,
    *,
    preset: str = "quick",
    seeds: int = 3,
    out: str | Path,
    data_dir: str | Path | None = None,
    announce: Callable[[Forecast], None] | None = None,
    progress: Callable[[TaskDone], None] | None = None,
) -> Experiment:
    """An experiment of Arora et al. 2018 by name; writes `out/NAME-PRESET.html`.

    Everything finished is kept in `out` and not done again: a killed run goes on, and experiments that need the same
    networks share them.

    preset    quick: minutes; full: the setting of the paper, which takes days without a GPU; digits: a trial, seconds
    seeds     how many networks of each kind; a finding counts as reproduced if its rule holds in all of them
    data_dir  where cifar10.npz or mnist.npz lie, if not in the usual folders
    announce  called before the work starts with a forecast of how long it takes
    """
    plan, setting = find_experiment(name), find_preset(preset)
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise PactError(f"a whole number from 1 up is needed, got {seeds!r}", where="seeds")
    folder = as_path(out, where="out")
    if data_dir is not None and not Path(data_dir).is_dir():
        raise PactError("this folder is not there", where=f"data_dir {data_dir}")
    source = choose_data(setting, data_dir)
    page = check_place(folder / f"{name}-{preset}.html")
    store = ResultStore(folder / "run")
    opened = cache(lambda limit: open_data(source, limit=limit, tested=setting.tested))
    tasks = _list_tasks(plan, preset, setting, source, range(seeds), folder, opened)
    if announce is not None:
        waiting = [study for study, task in tasks if store.find(task) is None]
        announce(forecast_training([(setting.case(one), opened(setting.case(one).limit)) for one in waiting]))
    studies = _run([task for _, task in tasks], store, progress)
    by_seed = [{one.study: one for one in studies if one.seed == seed} for seed in range(seeds)]
    result = Experiment(
        name=name,
        preset=preset,
        version=__version__,
        seeds=tuple(range(seeds)),
        data=Path(source).stem,
        note=_note(setting, Path(source).stem),
        studies=tuple(studies),
        findings=tuple(question.judge(by_seed) for question in plan.questions),
        command=_command(name, preset, seeds, folder, data_dir),
        page=page,
    )
    write_atomically(result.page, render_experiment(result, about=plan.about).encode())
    return result


def _list_tasks(
    plan: Plan,
    preset_name: str,
    preset: Preset,
    source: str,
    seeds: range,
    folder: Path,
    opened: Callable[[int], Data],
) -> list[tuple[str, Task]]:
    tasks = []
    for seed in seeds:
        for study in plan.studies:
            case = preset.case(study)
            arguments: dict[str, JsonValue] = {
                "study": study,
                "data": source,
                "fingerprint": opened(case.limit).train.fingerprint(),
                "tested": preset.tested,
                "case": asdict(case),
                "seed": seed,
                "out": str(folder / f"networks-{preset_name}"),
            }
            tasks.append((study, Task(f"{preset_name}-{study}-{seed}", study_network, arguments, version=__version__)))
    return tasks


def _run(tasks: list[Task], store: ResultStore, progress: Callable[[TaskDone], None] | None) -> list[Study]:
    studies = []
    for outcome in Inline().run(tasks, store, progress):
        if outcome.error is not None or not isinstance(outcome.result, dict):
            raise PactError(str(outcome.error), where=outcome.task.key)
        studies.append(read_study(outcome.result))
    return studies


def _note(preset: Preset, used: str) -> str:
    wanted = preset.data[0]
    missing = f" {wanted} was not found on this machine, so {used} stands in for it." if used != wanted else ""
    return f"{preset.about[0].upper()}{preset.about[1:]}. The data are {used}.{missing}"


def _command(name: str, preset: str, seeds: int, folder: Path, data_dir: str | Path | None) -> str:
    words = ["netpact", "experiment", name, "--preset", preset, "--seeds", str(seeds), "--out", str(folder)]
    return shlex.join([*words, *([] if data_dir is None else ["--data-dir", str(data_dir)])])
