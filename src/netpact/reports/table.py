"""The comparison as a terminal table of at most 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from netpact.core.percent import percent, percent_up
from netpact.reports.rows import Row, check_rows, find_best
from netpact.reports.text import clean, count


def table(rows: Sequence[Row], *, title: str) -> Table:
    """One line a network, its bound first; the row with the smallest proven bound is bold.

    Names are Text, not markup: square brackets in a name stay what they are. On a narrow screen the name wraps, and
    what is said beside a bound, numbers never.
    """
    check_rows(rows)
    best = find_best(rows)
    result = Table(title=Text(clean(title)), box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    result.add_column("network", overflow="fold", min_width=8)
    result.add_column("certified\nbound", justify="right", min_width=len("certified"), vertical="top")
    for heading in ("test\nerror", "train\nerror", "bytes", "parameters"):
        result.add_column(heading, justify="right", no_wrap=True, vertical="top")
    for row in rows:
        result.add_row(
            Text(clean(row.name)),
            bound_words(row),
            error_words(row),
            "none" if row.train_error is None else percent(row.train_error),
            count(row.message_bytes),
            "none" if row.parameters is None else count(row.parameters),
            style="bold" if row is best else None,
        )
    return result


def error_words(row: Row) -> str:
    """The test error, marked where it is above the proven bound."""
    if row.test_error is None:
        return "none"
    return percent(row.test_error) + ("\ncontradicts" if row.contradicted else "")


def bound_words(row: Row) -> str:
    """The bound rounded up, marked where it says no more than guessing, or why there is none."""
    if row.bound is None:
        return "none"
    if row.proven is None:
        return "refused" if row.agreed is False else f"{percent_up(row.bound)} as run"
    return f"{percent_up(row.proven)} vacuous" if row.vacuous else percent_up(row.proven)
