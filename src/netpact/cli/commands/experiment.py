from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.figures import figures_place, write_figures
from netpact.cli.interrupts import keeping, results_in
from netpact.cli.options import Figures, RunOptions

if TYPE_CHECKING:
    from rich.table import Table

    from netpact.experiments import Experiment


@dataclass(frozen=True, kw_only=True)
class ExperimentOptions:
    preset: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="quick: small networks, minutes; full: the paper's setting, days on a CPU; digits: a short trial, "
            "seconds.",
        ),
    ] = "quick"
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Networks of each kind.")] = 3
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="For networks, results and the page; a second run resumes there.")
    ] = Path("netpact-experiments")
    data_dir: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of cifar10.npz or mnist.npz. Default: the usual folders."),
    ] = None
    figures: Figures = None


def experiment(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", show_default=False, help="arora-fig1, arora-fig2, arora-table1 or arora-corrupted"
        ),
    ],
    options: ExperimentOptions,
    run: RunOptions,
) -> None:
    """Reproduce an experiment of a paper (Arora et al. 2018), and report which of its findings hold.

    A finding is reproduced if its rule, printed beside it, holds for every seed. The results are measurements and
    estimates, not certificates.

    Example: netpact experiment arora-fig1 --preset quick --out netpact-experiments
    """
    from netpact.experiments import run_experiment
    from netpact.experiments.experiment import describe_accuracy
    from netpact.experiments.pages import draw_experiment

    run.set_threads()
    figures_place(options.figures)
    with keeping(results_in(options.out)), progress_bar(name) as bar:
        result = run_experiment(
            name,
            preset=options.preset,
            seeds=options.seeds,
            out=options.out,
            data_dir=options.data_dir,
            announce=lambda forecast: people.print(str(forecast), soft_wrap=True),
            progress=lambda task: bar(task.done, task.total),
        )
    people.print(result.note, soft_wrap=True, markup=False)
    for study in result.studies:
        people.print(f"  {describe_accuracy(study)}", soft_wrap=True, markup=False)
    people.print(_table(result))
    people.print(f"The page: {result.page}", soft_wrap=True)
    write_figures(draw_experiment(result), options.figures)
    if run.json:
        print_json(result.to_json())


def _table(result: Experiment) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from netpact.experiments.experiment import describe_numbers

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=Text(f"{result.name}, {result.preset}"))
    shown.add_column("finding, and the rule for every seed")
    shown.add_column("each seed", justify="right")
    shown.add_column("verdict", no_wrap=True)
    for finding in result.findings:
        shown.add_row(Text(f"{finding.claim}\n{finding.rule}"), describe_numbers(finding), finding.verdict)
    return shown
