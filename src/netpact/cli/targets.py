"""Targets of compress: options, the table of what was tried, and what is said about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.console import Group
from rich.live import Live
from rich.table import Table

from netpact.cli.console import people, progress_columns
from netpact.cli.interrupts import keep_in
from netpact.cli.options import Delta
from netpact.cli.options_of import option
from netpact.core.errors import PactError
from netpact.core.percent import percent, percent_up

if TYPE_CHECKING:
    from netpact.core.progress import Progress
    from netpact.datasets import Data, Samples
    from netpact.methods import Method, Reached, Target, Tried
    from netpact.network import Network

_TEST = "test"


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """What is to be reached, in place of one setting."""

    PANEL: ClassVar = "Targets: settings are searched for by bisection"
    max_accuracy_loss: float | None = option(
        None, "POINTS", "The smallest file that loses at most so many percentage points of accuracy."
    )
    target_bytes: int | None = option(None, "N", "The most accurate file of at most N bytes, before it is certified.")
    target_bound: float | None = option(
        None, "SHARE", "The smallest file with at most this bound, 0.3 for 30 %, for --delta."
    )
    lowest_bound: bool = option(False, None, "The file with the lowest bound, for --delta.")
    delta: Delta = 0.05
    validation: str = option(
        "",
        "NAME",
        "Labelled data that accuracy is measured on, as for --data; test: the data's own test part.",
        shown="the training samples, at most 10,000",
    )
    over: tuple[str, ...] = option(
        (), "OPTION", "The option of the method to vary; a second one is varied for what the first one gave."
    )
    resume: Path | None = option(
        None, "FOLDER", "For what is finished; after an interrupt the same command goes on from there."
    )

    def __post_init__(self) -> None:
        self.target()

    def target(self) -> Target | None:
        named = {
            "--max-accuracy-loss": ("max_accuracy_loss", self.max_accuracy_loss),
            "--target-bytes": ("max_bytes", self.target_bytes),
            "--target-bound": ("max_bound", self.target_bound),
            "--lowest-bound": ("lowest_bound", self.lowest_bound),
        }
        given = [name for name, (_, value) in named.items() if value is not None and value is not False]
        if not given:
            return None
        if len(given) > 1:
            raise PactError(f"one target at a time, got {' and '.join(given)}", where=given[-1])
        from netpact.methods import Target

        try:
            return Target(**dict(named.values()), delta=self.delta)  # type: ignore[arg-type]
        except PactError as error:
            raise PactError(error.what, where=f"{given[0]} and --delta", hint=error.hint) from error

    def samples(self, data: Data) -> Samples | None:
        """Where accuracy is measured; None for the training samples."""
        from netpact.datasets import load_data

        if self.validation != _TEST:
            return load_data(self.validation).train if self.validation else None
        if data.test is None:
            raise PactError(f"{data.name} has no test part", where="--validation", hint="name other labelled data")
        return data.test


def usual_settings(name: str, given: Mapping[str, str]) -> dict[str, str]:
    """What goes with a method's size knob, but for what is set already: the first knob that agrees with that."""
    from netpact.methods import make_method
    from netpact.methods.size_knobs import find_knobs

    tried = []
    for knob in find_knobs(name):
        beside = {key: str(value) for key, value in knob.beside.items() if not isinstance(value, str)}
        if not knob.whole:  # a number without which the method would take another knob
            beside[knob.option] = str(knob.values[len(knob.values) // 2])
        tried.append(beside | dict(given))
        try:
            make_method(name, tried[-1])
        except PactError:
            continue
        return tried[-1]
    return tried[0] if tried else dict(given)


def reach_target(
    network: Network,
    method: Method,
    options: TargetOptions,
    data: Data,
    *,
    given: Mapping[str, str],
    arithmetic: str | None,
) -> Reached:
    """Search, show every setting as it is tried, and say what was found or what is nearest."""
    from netpact.methods import UnreachedError, compress_to
    from netpact.methods.targets.ladders import find_ladder

    target = options.target()
    assert target is not None
    over = options.over
    varied = find_ladder(method, over).option
    if varied in given and not over:
        over = ("rate",) if "rate" not in given and getattr(method, "rate", None) == 0 and varied == "bits" else over
        if not over:
            raise PactError(
                f"{varied} is set, and it is what would be varied",
                where="--set",
                hint="leave it out, or name another option with --over",
            )
    tried: list[Tried] = []
    try:
        with keep_in(options.resume), Show(tried) as show:
            found = compress_to(
                network,
                method,
                target,
                samples=data.train,
                validation=options.samples(data),
                over=over,
                arithmetic=arithmetic,
                keep=options.resume,
                progress=show.tried,
                working=show.working,
            )
    except UnreachedError:
        people.print(table_of(tried, None))
        raise
    people.print(table_of(tried, found.found))
    _tell(found, options)
    return found


def _tell(found: Reached, options: TargetOptions) -> None:
    if found.original_accuracy is not None:
        people.print(
            f"accuracy before compression {percent(found.original_accuracy, places=2)}, on {found.measured_on}",
            soft_wrap=True,
        )
    people.print(f"{found.target}: {found.found}", style="bold", soft_wrap=True)
    people.print(
        "Choosing among settings is paid for: all that was chosen is in the message, and a bound counts its bytes.",
        soft_wrap=True,
    )
    if options.validation == _TEST:
        people.print(
            "The setting was chosen on the test samples: the test error that certify prints is biased by that, the "
            "bound is not.",
            style="yellow",
            soft_wrap=True,
        )


class Show:
    """The table of what was tried, and a bar for what is at work."""

    def __init__(self, tried: list[Tried]) -> None:
        self._tried = tried
        self._bar = progress_columns()
        self._task = self._bar.add_task("", total=None, visible=False)
        self._live = Live(self._bar, console=people, transient=True, refresh_per_second=2)

    def __enter__(self) -> Show:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def tried(self, one: Tried) -> None:
        # A file is told of when it is made, and again when it has been measured.
        self._tried[:] = [*(other for other in self._tried if other.method != one.method), one]
        self._bar.update(self._task, visible=False)
        self._live.update(Group(table_of(self._tried, None), self._bar))

    def working(self, name: str) -> Progress:
        self._bar.reset(self._task, description=name, total=None, visible=True)
        return lambda done, total: self._bar.update(self._task, completed=done, total=total)


def table_of(tried: list[Tried], found: Tried | None) -> Table:
    table = Table("setting", "bytes", "accuracy", "points lost", "bound", title="tried", title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for one in tried:
        table.add_row(
            one.setting,
            "refused" if one.file_bytes is None else f"{one.file_bytes:,}",
            "" if one.accuracy is None else percent(one.accuracy, places=2),
            "" if one.accuracy_loss is None else f"{one.accuracy_loss:.2f}",
            "too long" if one.too_long else "" if one.bound is None else percent_up(one.bound),
            style="bold" if one == found else "",
        )
    return table
