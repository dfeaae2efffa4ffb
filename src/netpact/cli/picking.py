"""Sample compression on the command line: search --kind sample-compression, verify and info of a .pick file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from netpact.cli.console import people, print_json, progress_bar, progress_columns, verdict_style
from netpact.cli.interrupts import keeping, results_in
from netpact.core.errors import PactError, printable
from netpact.core.percent import percent_up

if TYPE_CHECKING:
    from netpact.cli.options import BaseOptions
    from netpact.cli.statement_page import StatementPage
    from netpact.core.limits import Limits
    from netpact.exploration import Trial

_LATEST = 12


def search_for_picks(
    data: str,
    *,
    out: Path,
    budget_seconds: float,
    rounds: int | None,
    delta: float,
    ground: BaseOptions,
    as_json: bool,
) -> None:
    from netpact.exploration import search_picks

    if not data:
        raise PactError("no data", where="--data", hint="give --data NAME")
    trials: list[Trial] = []
    with keeping(results_in(out)), progress_columns() as bars:
        tried = bars.add_task("recipes tried", total=None, budget=budget_seconds if rounds is None else None)
        picked = bars.add_task("picked samples", total=None, visible=False)

        def tell(trial: Trial) -> None:
            trials.append(trial)
            bars.update(tried, completed=len(trials))

        result = search_picks(
            data,
            out=out,
            budget_seconds=budget_seconds,
            rounds=rounds,
            delta=delta,
            base=ground.base,
            base_data=ground.base_data or None,
            progress=tell,
            working=lambda done, total: bars.update(picked, completed=done, total=total, visible=True),
        )
    people.print(_table(trials))
    stated = result.picked.certificate
    assert stated is not None
    people.print(f"{result.file}: {result.picked.recipe}, after {result.minutes:.1f} minutes", soft_wrap=True)
    people.print(printable(stated.sentence()), soft_wrap=True)
    if result.note:
        people.print(result.note, soft_wrap=True)
    if as_json:
        print_json(result.to_json())


def _table(trials: list[Trial]) -> Table:
    best = min(trials, key=lambda trial: trial.score)
    table = Table("recipe", "picked, wrong", "bound", title="best first, then the latest", title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for trial in [best, *trials[-_LATEST:]]:
        style = "bold" if trial is best else ""
        table.add_row(trial.name, f"{trial.errors:,}", percent_up(trial.score, places=2), style=style)
    return table


def verify_picks(
    file: Path,
    data: str,
    ground: BaseOptions,
    limits: Limits,
    show: StatementPage,
    *,
    as_json: bool,
) -> int:
    """Exit codes as for other files: 0 agreed, 1 refused, 3 agreed but contradicted. It always trains again."""
    from netpact.datasets import load_data
    from netpact.picking import Picked, verify_picked

    picked, source = Picked.read(file), load_data(data)
    with progress_bar("picking again") as bar:
        verdict = verify_picked(
            picked,
            source,
            base=ground.base,
            base_data=ground.base_data or None,
            max_parameters=limits,
            progress=bar,
        )
    people.print(str(verdict), style=verdict_style(verdict), soft_wrap=True)
    if picked.certificate is not None:
        show.write({"selection": picked.certificate}, file=file, verdicts={"selection": verdict})
    if as_json:
        print_json(verdict.to_json())
    if not verdict.agreed:
        return 1
    return 3 if verdict.contradicted else 0


def describe_picks(file: Path, *, as_json: bool) -> None:
    from netpact.picking import Picked

    picked = Picked.read(file)
    stated = picked.certificate
    if as_json:
        print_json(
            {
                "recipe": str(picked.recipe),
                "message_bytes": len(picked.message),
                "code_bits": picked.code_bits,
                "picked": len(picked.picks),
                "certificate": None if stated is None else stated.to_json(),
            }
        )
        return
    people.print(
        f"{file}: sample compression. Recipe of {len(picked.message)} bytes ({picked.code_bits} bits counted): "
        f"{picked.recipe}. {len(picked.picks):,} picked samples.",
        soft_wrap=True,
    )
    said = "No certificate." if stated is None else f"Stated, not checked here: {stated.sentence()}"
    people.print(printable(said), soft_wrap=True)
