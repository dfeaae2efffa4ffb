"""Warnings about data, before the data are used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.text import Text

from netpact.cli.console import people
from netpact.core.errors import printable

if TYPE_CHECKING:
    from netpact.datasets import Data, Problem


def warn_about(data: Data) -> None:
    """One pass over each part, without the search for exact copies."""
    from netpact.datasets import check_data

    print_problems(check_data(data))


def print_problems(problems: Iterable[Problem]) -> None:
    for problem in problems:
        # Text, not markup: names come from files.
        people.print(Text(f"warning: {printable(str(problem))}"), soft_wrap=True)
