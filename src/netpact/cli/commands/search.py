from __future__ import annotations

import re
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.table import Table

from netpact.cli.console import people, print_json, progress_columns
from netpact.cli.interrupts import keeping, results_in
from netpact.cli.options import DATA_NAMES, BaseOptions, Delta, RunOptions
from netpact.cli.options_of import option
from netpact.core.checks import check_choice
from netpact.core.errors import PactError, printable
from netpact.core.percent import percent_up

if TYPE_CHECKING:
    from netpact.exploration import Trial

PICKS = "sample-compression"
_UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    out: Path = option(MISSING, "FOLDER", "For best.pact and the ledger; a second run resumes there.")
    kind: str = option(
        "network",
        "KIND",
        "network: a small message; sample-compression: a recipe that needs few of the samples (OUT/best.pick).",
    )
    data: str = option("", "NAME", f"{DATA_NAMES}; with --preset only to run it on other data.")
    preset: str = option(
        "", "NAME", "The search that made a record: mnist, fashion_mnist, cifar10, digits, mnist-learned, ..."
    )
    budget: str = option("10m", "TIME", "Time to spend: 90s, 10m, 1h.")
    rounds: int = option(0, "N", "Stop after N rounds instead, to repeat a search exactly.", least=0)
    candidates: tuple[str, ...] = option(
        (), "MODEL", "Only this architecture, or cp:25:MODEL or p4m:MODEL; may be repeated.", name="--candidate"
    )
    rates: tuple[float, ...] = option((), "NUMBER", "Only this price of a bit; may be repeated.", name="--rate")
    training_steps: int = option(0, "N", "Gradient steps for the signs; 0: chosen from the sample size.", least=0)
    starts: int = option(1, "N", "Trainings of signs for each architecture and rate; the better half goes on.", least=1)
    seed: int = option(
        0, "N", "Seed of training and of the changes tried; with --preset, another than its own.", least=0
    )
    delta: Delta = 0.05


def search(options: SearchOptions, ground: BaseOptions, run: RunOptions) -> None:
    """Search for the file with the lowest certified bound within a time budget, and certify it.

    Everything tried is listed in OUT/ledger.json; every choice is encoded in the message, so it is paid for. A better
    OUT/best.pact for the same data and delta is never replaced.

    With --kind sample-compression the classifier is a kernel machine in integers that picks the samples it needs; the
    bound pays for how many they are. Only --data, --budget, --rounds, --delta, --out, --base and --base-data apply. The
    base is a .pact file of an integer network (method whole) from other data: samples are compared by what its layers
    read, or by their edges, and scores may start at its logits.

    Example: netpact search --data digits --budget 2m --out digits-search

    Example: netpact search --kind sample-compression --data digits --budget 1m --out digits-picks

    Example: netpact search --kind sample-compression --data mnist --base fonts.pact --budget 20m --out mnist-picks
    """
    from netpact.exploration import find_preset
    from netpact.exploration import search as explore

    run.set_threads()
    if check_choice(options.kind, ("network", PICKS), where="--kind") == PICKS:
        _search_picks(options, ground, run)
        return
    if ground.base is not None or ground.base_data:
        raise PactError(f"is for --kind {PICKS}", where="--base", hint="leave it out; docs/priors.md has other ways")
    if not options.preset and not options.data:
        raise PactError("no data", where="--data", hint="give --data NAME, or --preset NAME for the data of a record")
    fixing = options.rounds or options.candidates or options.rates or options.training_steps or options.starts > 1
    if options.preset and fixing:
        raise PactError(
            "a preset fixes rounds, candidates, rates, steps and starts", where="--preset", hint="leave them out"
        )
    fixed = find_preset(options.preset) if options.preset else None
    rounds = fixed.rounds if fixed else options.rounds or None
    budget = parse_budget(options.budget)
    trials: list[Trial] = []
    with keeping(results_in(options.out)), _Show(trials, budget if rounds is None else None) as show:
        result = explore(
            options.data or (fixed.data if fixed else ""),
            budget_seconds=budget,
            seed=options.seed or (fixed.seed if fixed else 0),
            out=options.out,
            delta=options.delta,
            rounds=rounds,
            candidates=fixed.candidates if fixed else options.candidates or None,
            rates=fixed.rates if fixed else options.rates or None,
            training_steps=fixed.training_steps if fixed else options.training_steps or None,
            starts=fixed.starts if fixed else options.starts,
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
    if run.json:
        print_json(result.to_json())


def _search_picks(options: SearchOptions, ground: BaseOptions, run: RunOptions) -> None:
    from netpact.cli.picking import search_for_picks

    given = {
        "--preset": options.preset,
        "--candidate": options.candidates,
        "--rate": options.rates,
        "--training-steps": options.training_steps,
        "--starts": options.starts > 1,
        "--seed": options.seed,
    }
    for name, value in given.items():
        if value:
            raise PactError(f"is not for --kind {PICKS}", where=name, hint="leave it out")
    search_for_picks(
        options.data,
        out=options.out,
        budget_seconds=parse_budget(options.budget),
        rounds=options.rounds or None,
        delta=options.delta,
        ground=ground,
        as_json=run.json,
    )


class _Show:
    """The table of trials, how many and what is left of the budget in seconds, and a bar for the one at work."""

    def __init__(self, trials: list[Trial], budget: float | None) -> None:
        self._trials = trials
        self._bar = progress_columns()
        self._all = self._bar.add_task("trials", total=None, budget=budget)
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
        self._bar.update(self._all, completed=len(self._trials))
        self._live.update(Group(_table(self._trials), self._bar))

    def working(self, name: str, done: int, total: int) -> None:
        self._bar.update(self._task, description=name, completed=done, total=total, visible=True)


def parse_budget(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None or float(found[1]) <= 0:
        raise PactError(f"must be a time above 0, as 90s, 10m or 1h, got {text!r}", where="--budget")
    return float(found[1]) * _UNITS[found[2]]


def _table(trials: list[Trial], latest: int = 12) -> Table:
    """The best so far and the latest trials."""
    best = min(trials, key=lambda trial: trial.score)
    table = Table("trial", "errors", "bits", "bound", title="best first, then the latest", title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for trial in [best, *trials[-latest:]]:
        style = "bold" if trial is best else ""
        bound = percent_up(trial.score, places=2)
        table.add_row(trial.name, f"{trial.errors:,}", f"{trial.bits:,}", bound, style=style)
    return table
