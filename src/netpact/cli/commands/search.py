from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table

from netpact.cli.console import people, print_json, progress_columns
from netpact.cli.interrupts import keeping, results_in
from netpact.cli.options import DATA_NAMES, Json, Threads, set_threads
from netpact.core.errors import PactError, printable

if TYPE_CHECKING:
    from netpact.exploration import Trial

_UNITS = {"s": 1, "m": 60, "h": 3600}


def search(
    out: Annotated[Path, typer.Option(help="Folder for best.pact and the ledger; a second run goes on there.")],
    data: Annotated[str, typer.Option(help=f"{DATA_NAMES}; with --preset only to run it on other data.")] = "",
    preset: Annotated[
        str,
        typer.Option(help="The search that made a record: mnist, fashion_mnist, cifar10, digits, mnist-learned, ..."),
    ] = "",
    budget: Annotated[str, typer.Option(help="Time to spend: 90s, 10m, 1h.")] = "10m",
    rounds: Annotated[
        int, typer.Option(min=0, metavar="N", help="Stop after so many rounds instead, to repeat a search exactly.")
    ] = 0,
    candidates: Annotated[
        list[str] | None, typer.Option("--candidate", metavar="MODEL", help="Only these architectures.")
    ] = None,
    rates: Annotated[
        list[float] | None, typer.Option("--rate", metavar="NUMBER", help="Only these prices of a bit.")
    ] = None,
    training_steps: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Steps of gradient for the signs; 0 takes what the samples are worth."),
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of training and changes.")] = 0,
    delta: Annotated[float, typer.Option(help="The bound holds with probability 1 - delta.")] = 0.05,
    threads: Threads = 0,
    json: Json = False,
) -> None:
    """Look for the file with the lowest certified bound within a time budget, and certify it.

    Works on your own data too (FILE.npz). Everything tried is in OUT/ledger.json; every choice is in the message.
    A better OUT/best.pact for the same data and delta is never replaced.

    Example: netpact search --data digits --budget 2m --out digits-search
    """
    from netpact.exploration import find_preset
    from netpact.exploration import search as explore

    set_threads(threads)
    if not preset and not data:
        raise PactError("say what to search on", where="--data", hint="--data NAME, or --preset NAME for a record's")
    if preset and (rounds or candidates or rates or training_steps):
        raise PactError("a preset settles rounds, candidates, rates and steps", where="--preset", hint="leave them out")
    fixed = find_preset(preset) if preset else None
    trials: list[Trial] = []
    with keeping(results_in(out)), _Show(trials) as show:
        result = explore(
            data or (fixed.data if fixed else ""),
            budget_seconds=parse_budget(budget),
            seed=fixed.seed if fixed else seed,
            out=out,
            delta=delta,
            rounds=fixed.rounds if fixed else rounds or None,
            candidates=fixed.candidates if fixed else candidates,
            rates=fixed.rates if fixed else rates,
            training_steps=fixed.training_steps if fixed else training_steps or None,
            progress=show.finished,
            working=show.working,
        )
    people.print(_table(trials))
    assert result.pact.certificate is not None
    people.print(
        f"{result.file}: {len(result.pact.message):,} bytes after {result.minutes:.1f} minutes", soft_wrap=True
    )
    people.print(printable(result.pact.certificate.sentence()), soft_wrap=True)
    if result.note:
        people.print(result.note, soft_wrap=True, markup=False)
    if json:
        print_json(result.to_json())


class _Show:
    """The table of trials, and a bar for the one at work."""

    def __init__(self, trials: list[Trial]) -> None:
        self._trials = trials
        self._bar = progress_columns()
        self._task = self._bar.add_task("", total=None, visible=False)
        self._live = Live(self._bar, console=people, transient=True, refresh_per_second=2)

    def __enter__(self) -> _Show:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def finished(self, trial: Trial) -> None:
        self._trials.append(trial)
        self._bar.update(self._task, visible=False)
        self._live.update(Group(_table(self._trials), self._bar))

    def working(self, name: str, done: int, total: int) -> None:
        self._bar.update(self._task, description=name, completed=done, total=total, visible=True)


def parse_budget(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None or float(found[1]) <= 0:
        raise PactError(f"{text!r} is no time to spend", where="--budget", hint="for example 90s, 10m or 1h")
    return float(found[1]) * _UNITS[found[2]]


def _table(trials: list[Trial], latest: int = 12) -> Table:
    """The best so far and the latest trials."""
    best = min(trials, key=lambda trial: trial.score)
    table = Table("trial", "errors", "bits", "bound", title="best first, then the latest", title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for trial in [best, *trials[-latest:]]:
        style = "bold" if trial is best else ""
        table.add_row(trial.name, f"{trial.errors:,}", f"{trial.bits:,}", f"{100 * trial.score:.2f} %", style=style)
    return table
