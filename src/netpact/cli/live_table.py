"""A table on stderr that grows while a comparison runs: what is known of each file so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from netpact.cli.console import people, time_left_words
from netpact.core.percent import percent
from netpact.core.progress import TimeLeft

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from netpact.comparisons.comparing import Step
    from netpact.reports.rows import Row

_STAGES = {
    "original": "looking at the network",
    "compress": "compressing",
    "certify": "certifying the best files on all samples",
    "verify": "checking the certificates",
    "speed": "measuring speed",
    "measure": "measuring the network",
}


class LiveTable:
    """Shown on a terminal while the block runs; what is said stays above it."""

    def __init__(self, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.live import Live

        self._title, self._clock = title, clock
        self._step: Step | None = None
        self._left: TimeLeft | None = None
        self._live = Live(
            console=people,
            transient=True,
            refresh_per_second=1,
            vertical_overflow="ellipsis",
            get_renderable=self.render,
        )

    def __enter__(self) -> LiveTable:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def say(self, words: str) -> None:
        people.print(words, soft_wrap=True)

    def show(self, step: Step) -> None:
        self._step = step
        if step.share is not None:
            self._left = self._left or TimeLeft(self._clock(), step.share)
            self._left.hear(step.share, 1.0, self._clock())

    def render(self) -> RenderableType:
        """Asked every second, so that what is left counts down between two steps."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        step = self._step
        if step is None:
            return Text(self._title)
        words = f"{_STAGES.get(step.stage, step.stage)}: {step.done} of {step.total}"
        left = time_left_words(None if self._left is None else self._left.seconds(self._clock()))
        bar = ProgressBar(total=step.total, completed=step.done, width=40)
        return Group(self._table(step.rows), Text(", ".join(filter(None, (words, left)))), bar)

    def _table(self, rows: tuple[Row, ...]) -> Table:
        """The newest rows last; as many as the screen has room for."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        from netpact.reports.table import bound_words
        from netpact.reports.text import clean, count

        result = Table(title=Text(self._title), box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
        result.add_column("network", overflow="ellipsis", no_wrap=True)
        for heading in ("bytes", "params", "MFLOPs", "train", "test", "fidelity", "deviation", "bound"):
            result.add_column(heading, justify="right", no_wrap=True)
        room = max(4, people.size.height - 8)
        shown = rows[:1] + rows[1:][-(room - 1) :]
        for row in shown:
            expected = row.bound is None and row.expected_bound is not None
            result.add_row(
                Text(clean(row.name)),
                count(row.message_bytes),
                _short(row.parameters),
                "-" if row.flops is None else f"{row.flops / 1e6:.3g}",
                *(_share(share) for share in (row.train_error, row.test_error, row.fidelity)),
                "-" if row.deviation is None else f"{row.deviation:.2g}",
                f"~{_share(row.expected_bound)}" if expected else bound_words(row),
                style="dim" if row.original else None,
            )
        return result


def _short(number: int | None) -> str:
    if number is None or number < 10_000:
        return "-" if number is None else f"{number:,}"
    return f"{number / 1e3:.0f}k" if number < 10_000_000 else f"{number / 1e6:.0f}M"


def _share(share: float | None) -> str:
    return "-" if share is None else percent(share)
