from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netpact.cli.console import people, print_json
from netpact.cli.data_warnings import warn_about
from netpact.cli.engine_options import EngineOptions
from netpact.cli.figures import figures_place
from netpact.cli.interrupts import keeping, results_in
from netpact.cli.live_table import LiveTable
from netpact.cli.options import DataName, Delta, Figures, ModelName, RunOptions, Weights
from netpact.cli.options_of import option

if TYPE_CHECKING:
    from netpact.comparisons import CompareOptions, Comparison


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    weights: Weights = None
    methods: tuple[str, ...] = option((), "NAME", "Only this method; may be repeated. Default: all.", name="--methods")
    sizes: int = option(3, "N", "Settings of each method's size, from large files to small ones.", least=1)
    samples: int = option(
        0,
        "N",
        "Samples of each set that the table's errors are counted on; a certificate counts all training samples.",
        least=0,
        shown="all, at most 2,000",
    )
    certified: int | None = option(
        None,
        "N",
        "Files that get a certificate: the recommended and the most promising.",
        least=0,
        shown="3, up to 8 where it is quick",
    )
    budget: float = option(30.0, "MINUTES", "Roughly what all may take: it limits how long methods train.", least=0.1)
    tolerance: float = option(1.0, "POINTS", "Percentage points of error that an accurate file may lose.", least=0)
    delta: Delta = 0.05
    out: Path = option(Path("netpact-compare"), "FOLDER", "For the files and the page; a second run resumes there.")
    seed: int = option(0, "N", "Seed of the measurements.", least=0)
    figures: Figures = None

    def __post_init__(self) -> None:
        figures_place(self.figures)

    def to_options(self) -> CompareOptions:
        from netpact.comparisons import CompareOptions

        names = tuple(name for one in self.methods for name in one.split(",") if name)
        return CompareOptions(
            methods=names,
            sizes=self.sizes,
            samples=self.samples,
            certified=self.certified,
            minutes=self.budget,
            tolerance=self.tolerance / 100,
            delta=self.delta,
            seed=self.seed,
        )


def compare(
    model: ModelName, data: DataName, options: ComparisonOptions, engine: EngineOptions, run: RunOptions
) -> None:
    """Compress a trained network by every method at several sizes, and recommend one for size, speed and proof.

    For each file: bytes, parameters, operations, speed, errors, fidelity, deviation bound, published estimates; for the
    best ones a certificate. A method that does not apply to the network is named with the reason. The page index.html
    compares them all; an interrupted comparison goes on where it was.

    Example: netpact compare mlp --weights mlp.safetensors --data digits --out netpact-compare
    """
    from netpact.cli.models import names_own_function, trained_model
    from netpact.comparisons import compare as run_comparison
    from netpact.datasets import load_data

    run.set_threads()
    wanted = options.to_options()
    chosen = engine.make_engine(run.threads)
    source = load_data(data)
    warn_about(source)
    module = trained_model(model, source, weights=options.weights)
    table = LiveTable(f"{model} on {data}")
    with keeping(results_in(options.out)), table:
        result = run_comparison(
            module,
            data,
            wanted,
            own=model if names_own_function(model) else "",
            out=options.out,
            engine=chosen,
            command=shlex.join(["netpact", *sys.argv[1:]]),
            announce=lambda forecast: table.say(str(forecast)),
            progress=table.show,
        )
    _print(result)
    _write_figures(result, options)
    if run.json:
        print_json(result.to_json())


def _print(result: Comparison) -> None:
    from rich.text import Text

    from netpact.reports import table

    shown = result.shortlist()
    left = f"; the {len(shown)} best of {len(result.rows)}" if len(shown) < len(result.rows) else ""
    title = f"{result.provenance.data_name}: {result.provenance.samples:,} samples{left}"
    people.print(table(shown, title=title))
    for one in result.left_out:
        people.print(f"without {one.name}: {one.reason}", soft_wrap=True, style="dim")
    people.print("Recommended", style="bold")
    for choice in result.recommendation.choices:
        people.print(Text.assemble((f"  {choice.goal}: ", "bold"), choice.words), soft_wrap=True)
    people.print(f"The page: {result.page}", soft_wrap=True)


def _write_figures(result: Comparison, options: ComparisonOptions) -> None:
    from netpact.cli.figures import write_figures
    from netpact.reports.page import compare_sections

    sections = compare_sections(result.rows)
    write_figures([panel.draw(900) for one in sections for panel in one.panels()], options.figures)
