from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.figures import figures_place, write_figures
from netpact.cli.interrupts import keeping, results_in
from netpact.cli.options import DataName, Delta, Figures, Json


def demo(
    data: DataName = "digits",
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of training and search.")] = 0,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="For the files and the page; a second run resumes there.")
    ] = Path("netpact-demo"),
    delta: Delta = 0.05,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Worker processes.")] = min(2, os.cpu_count() or 1),
    figures: Figures = None,
    json: Json = False,
) -> None:
    """Run the whole pipeline on one data set: train, compress to several sizes, certify, verify, write a report page.

    Example: netpact demo --data digits --out netpact-demo
    """
    from netpact.comparisons.demonstration import demonstrate
    from netpact.reports import draw_scatter, table

    figures_place(figures)
    with keeping(results_in(out)), progress_bar(f"demo on {data}") as bar:
        result = demonstrate(
            data, seed=seed, out=out, delta=delta, jobs=jobs, progress=lambda task: bar(task.done, task.total)
        )
    people.print(table(result.rows, title=f"{data}: {result.provenance.samples:,} training samples"))
    people.print(result.sentence, soft_wrap=True)
    people.print("Each bound holds separately with that probability. Check one yourself:")
    people.print(f"  netpact verify {out / 'linear-search.pact'} --data {data}", soft_wrap=True)
    people.print(f"The page: {result.page}", soft_wrap=True)
    write_figures([draw_scatter(result.rows, width=900)], figures)
    if json:
        print_json(result.to_json())
