from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from netpact.cli.console import people, print_json, progress_bar
from netpact.cli.figures import figures_place, write_figures
from netpact.cli.options import DATA_NAMES, BaseOptions, Figures, LimitOptions, Overwrite, OwnModel, RunOptions
from netpact.cli.options_of import option
from netpact.cli.places import page_place
from netpact.core.errors import PactError


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    out: Path = option(Path("report.html"), "FILE", "The page.")
    data: str = option("", "NAME", f"Verify the files and measure their speed and test error on: {DATA_NAMES}.")
    original: Path | None = option(
        None, "FILE", "With --data: weights of the network before compression, for fidelity and deviation bounds."
    )
    title: str = option("netpact report", "TEXT", "Heading of the page.")
    model: OwnModel = ""
    figures: Figures = None
    overwrite: Overwrite = False

    def __post_init__(self) -> None:
        if self.original is not None and not self.data:
            raise PactError("needs the data to compare the networks on", where="--original", hint="give --data NAME")
        page_place(self.out, overwrite=self.overwrite)
        figures_place(self.figures)


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", show_default=False, help="Files: .pact, results as JSON; or folders of them."
        ),
    ],
    options: ReportOptions,
    base: BaseOptions,
    limits: LimitOptions,
    run: RunOptions,
) -> None:
    """Write one HTML page that compares files: what is proven, sizes and errors, what was measured, experiments.

    PATH: .pact files; what measure, bounds, experiment, search or demo printed with --json; files of a Monitor; folders
    of these. The page loads nothing and opens from disk. Without --data it shows what the files state; with it they are
    verified.

    Example: netpact report netpact-demo --data digits --out report.html
    """
    from netpact.cli.models import own_model
    from netpact.core.files import write_atomically
    from netpact.datasets import load_data
    from netpact.models import load_model
    from netpact.overview import gather
    from netpact.overview.pact_files import Beside
    from netpact.reports.file_rows import Opening

    run.set_threads()
    ground, ground_data = base.open(limits.limits())
    opening = Opening(model=own_model(options.model), base=ground, base_data=ground_data, limits=limits.limits())
    beside = Beside(
        data=load_data(options.data) if options.data else None,
        original=None if options.original is None else load_model(options.original),
        opening=opening,
    )
    with progress_bar("reading") as bar:
        found = gather(paths, beside, command=shlex.join(["netpact", *sys.argv[1:]]), progress=bar)
    write_atomically(options.out, found.render(title=options.title).encode())
    write_figures(found.figures(), options.figures)
    people.print(f"The page: {options.out}", soft_wrap=True, markup=False)
    if run.json:
        print_json(found.to_json())
