"""What the commands say, and where: JSON on stdout, everything for people on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from netpact.progress import Progress as ProgressCallback

people = Console(stderr=True, highlight=False)


def print_json(record: object) -> None:
    sys.stdout.write(json.dumps(record, indent=2) + "\n")


def progress_columns() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=people, transient=True)


@contextmanager
def progress_bar(what: str) -> Iterator[ProgressCallback]:
    """A bar on stderr that appears with the first report and goes away at the end."""
    with progress_columns() as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
