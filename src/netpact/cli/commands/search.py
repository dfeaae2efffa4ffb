from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.live import Live
from rich.table import Table

from netpact.cli.console import people, print_json
from netpact.cli.options import DataName, Json, Threads, set_threads
from netpact.errors import PactError

if TYPE_CHECKING:
    from netpact.exploration import Trial

_UNITS = {"s": 1, "m": 60, "h": 3600}


def search(
    data: DataName,
    out: Annotated[Path, typer.Option(help="Folder for best.pact and the ledger; a second run goes on there.")],
    budget: Annotated[str, typer.Option(help="Time to spend: 90s, 10m, 1h.")] = "10m",
    rounds: Annotated[
        int, typer.Option(min=0, help="Stop after so many rounds instead, to repeat a search exactly.")
    ] = 0,
    candidates: Annotated[list[str] | None, typer.Option("--candidate", help="Only these architectures.")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    delta: float = 0.05,
    threads: Threads = 0,
    json: Json = False,
) -> None:
    """Look for the file with the lowest certified bound within a time budget, and certify it.

    Works on your own data too (FILE.npz). Everything tried is in OUT/ledger.json; every choice is in the message.

    Example: netpact search --data digits --budget 2m --out digits-search
    """
    from netpact.exploration import search as explore

    set_threads(threads)
    seconds = parse_budget(budget)
    trials: list[Trial] = []
    with Live(console=people, transient=True, refresh_per_second=2) as live:

        def show(trial: Trial) -> None:
            trials.append(trial)
            live.update(_table(trials))

        result = explore(
            data,
            budget_seconds=seconds,
            seed=seed,
            out=out,
            delta=delta,
            rounds=rounds or None,
            candidates=candidates,
            progress=show,
        )
    people.print(_table(trials))
    assert result.pact.certificate is not None
    people.print(
        f"{result.file}: {len(result.pact.message):,} bytes after {result.minutes:.1f} minutes", soft_wrap=True
    )
    people.print(result.pact.certificate.sentence(), soft_wrap=True)
    if json:
        print_json(result.to_json())


def parse_budget(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None or float(found[1]) <= 0:
        raise PactError(f"{text!r} is no time to spend", where="--budget", hint="for example 90s, 10m or 1h")
    return float(found[1]) * _UNITS[found[2]]


def _table(trials: list[Trial], latest: int = 12) -> Table:
    """The best so far and the latest trials; scores leave the header out, so the file's bound is a little higher."""
    best = min(trials, key=lambda trial: trial.score)
    table = Table("trial", "errors", "bits", "bound", title="best first, then the latest", title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for trial in [best, *trials[-latest:]]:
        style = "bold" if trial is best else ""
        table.add_row(trial.name, f"{trial.errors:,}", f"{trial.bits:,.0f}", f"{100 * trial.score:.2f} %", style=style)
    return table
