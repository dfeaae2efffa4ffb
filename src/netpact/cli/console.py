"""Output of the commands: JSON on stdout, everything for people on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.segment import Segment
from rich.text import Text

from netpact.core.errors import printable
from netpact.core.progress import Progress as ProgressCallback
from netpact.core.progress import TimeLeft, time_words

if TYPE_CHECKING:
    from netpact.pacts.verification import Verdict

AS_RUN_STYLE = "magenta"  # never the colour of what is proven for every machine


class PlainConsole(Console):
    """A console for text that may come from a file: no markup, and control codes are written out, whoever prints them.

    Line breaks stay: who prints text from a file on a line of its own makes it printable() first.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            # Control segments are rich's own: they move the cursor of a progress bar.
            shown = segment.text if segment.control else "\n".join(map(printable, segment.text.split("\n")))
            yield Segment(shown, segment.style, segment.control)


people = PlainConsole(stderr=True, highlight=False, markup=False)


def verdict_style(verdict: Verdict) -> str:
    if verdict.undecided and not verdict.reasons:
        return "yellow"
    if not verdict.agreed or verdict.contradicted or verdict.certificate is None:
        return "red"
    return AS_RUN_STYLE if verdict.certificate.as_run else "green"


def print_json(record: object) -> None:
    sys.stdout.write(json.dumps(record, indent=2) + "\n")


class TimeLeftColumn(ProgressColumn):
    """What is left of the work that a bar shows, or of its `budget` in seconds where it has one.

    Nothing where that is not known yet. Work of another name begins anew.
    """

    def __init__(self) -> None:
        super().__init__()
        self._work: dict[TaskID, tuple[str, TimeLeft]] = {}

    def render(self, task: Task) -> Text:
        return Text(time_left_words(None if task.finished else self._seconds(task)), style="progress.remaining")

    def _seconds(self, task: Task) -> float | None:
        now, budget = task.get_time(), task.fields.get("budget")
        if budget is not None:
            return max(0.0, budget - (task.elapsed or 0.0))
        called, left = self._work.get(task.id, ("", None))
        if left is None:
            left = TimeLeft(now if task.start_time is None else task.start_time)
        elif called != task.description:
            left = TimeLeft(now)
        self._work[task.id] = (task.description, left)
        left.hear(task.completed, task.total, now)
        return left.seconds(now)


def time_left_words(seconds: float | None) -> str:
    return "" if seconds is None else f"about {time_words(seconds)} left"


def progress_columns() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, TimeLeftColumn(), console=people, transient=True)


@contextmanager
def progress_bar(what: str) -> Iterator[ProgressCallback]:
    """A bar on stderr that appears with the first report and goes away at the end."""
    with progress_columns() as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
