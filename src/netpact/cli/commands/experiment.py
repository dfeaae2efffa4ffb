from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netpact.cli.completion import complete_experiment
from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.engine_options import EngineOptions
from netpact.cli.figures import figures_place, write_figures
from netpact.cli.interrupts import keeping, results_in
from netpact.cli.options import Figures, RunOptions
from netpact.cli.options_of import option

if TYPE_CHECKING:
    from rich.table import Table

    from netpact.experiments import Experiment


@dataclass(frozen=True, kw_only=True)
class ExperimentOptions:
    preset: str = option(
        "quick",
        "NAME",
        "quick: small networks, minutes; full: the paper's setting, days on a CPU; digits: a short trial, seconds.",
    )
    seeds: int = option(3, "N", "Networks of each kind.", least=1)
    out: Path = option(
        Path("netpact-experiments"), "FOLDER", "For networks, results and the page; a second run resumes there."
    )
    data_dir: Path | None = option(None, "FOLDER", "Folder of cifar10.npz or mnist.npz. Default: the usual folders.")
    figures: Figures = None


def experiment(
    options: ExperimentOptions,
    engine: EngineOptions,
    run: RunOptions,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            show_default=False,
            help="Which experiment. Default: list them.",
            autocompletion=complete_experiment,
        ),
    ] = "",
) -> None:
    """Reproduce an experiment of a paper, and report which of its findings hold.

    A finding is reproduced if its rule, printed beside it, holds for every seed. The results are measurements and
    estimates, not certificates.

    Example: netpact experiment arora-fig1 --preset quick --out netpact-experiments
    """
    from netpact.experiments import EXPERIMENTS, Panel, run_experiment

    if not name:
        _list(run.json)
        return
    run.set_threads()
    chosen = engine.make_engine(run.threads)
    figures_place(options.figures)
    with keeping(results_in(options.out)), progress_bar(name) as bar:
        result = run_experiment(
            name,
            preset=options.preset,
            seeds=options.seeds,
            out=options.out,
            data_dir=options.data_dir,
            engine=chosen,
            announce=lambda forecast: people.print(str(forecast), soft_wrap=True),
            progress=lambda task: bar(task.done, task.total),
        )
    people.print(result.note, soft_wrap=True, markup=False)
    for study in result.studies:
        people.print(f"  {study}", soft_wrap=True, markup=False)
    people.print(_table(result))
    people.print(f"The page: {result.page}", soft_wrap=True)
    parts = EXPERIMENTS[name].show(result)
    write_figures([part.draw(900) for part in parts if isinstance(part, Panel)], options.figures)
    if run.json:
        print_json(result.to_json())


def _list(json: bool) -> None:
    from rich import box
    from rich.table import Table

    from netpact.experiments import EXPERIMENTS

    shown = Table("experiment", "shows", "paper", "presets", box=box.SIMPLE_HEAD, pad_edge=False)
    for plan in EXPERIMENTS.values():
        shown.add_row(plan.name, plan.title, plan.paper, ", ".join(plan.presets))
    people.print(shown)
    if json:
        print_json([plan.to_json() for plan in EXPERIMENTS.values()])


def _table(result: Experiment) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=Text(f"{result.name}, {result.preset}"))
    shown.add_column("finding, and the rule for every seed")
    shown.add_column("paper", justify="right")
    shown.add_column("each seed", justify="right")
    shown.add_column("verdict", no_wrap=True)
    for finding in result.findings:
        paper, ours, _, verdict = finding.cells()
        shown.add_row(Text(f"{finding.claim}\n{finding.rule}"), paper, ours, verdict)
    return shown
