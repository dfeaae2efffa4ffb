"""What one measurement is, and tables of them: in the terminal, in the JSON file and on the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from netpact.core.errors import PactError

_END = "<!-- end -->"


@dataclass(frozen=True, kw_only=True)
class FileRow:
    """One file that holds a network: what it weighs, how well it does, and the bound that its bytes give."""

    network: str
    method: str
    setting: str
    size_bytes: int
    test_error: float
    train_errors: int | None = None
    bound: float | None = None
    encode_ms: float | None = None
    decode_ms: float | None = None


@dataclass(frozen=True, kw_only=True)
class BoundRow:
    """One bound on the risk, whatever it rests on."""

    what: str
    about: str
    rests_on: str
    train_error: float | None
    test_error: float | None
    bound: float
    seconds: float | None = None


def file_table(rows: Sequence[FileRow]) -> str:
    head = ("network", "method", "setting", "bytes", "test error", "bound", "write ms", "read ms")
    body = [
        (
            row.network,
            row.method,
            row.setting,
            f"{row.size_bytes:,}",
            _percent(row.test_error),
            _percent_up(row.bound),
            _number(row.encode_ms),
            _number(row.decode_ms),
        )
        for row in rows
    ]
    return markdown(head, body)


def bound_table(rows: Sequence[BoundRow]) -> str:
    head = ("bound", "about", "rests on", "train error", "test error", "bound", "seconds")
    body = [
        (
            row.what,
            row.about,
            row.rests_on,
            _percent(row.train_error),
            _percent(row.test_error),
            _percent_up(row.bound),
            _number(row.seconds),
        )
        for row in rows
    ]
    return markdown(head, body)


def to_json(rows: Sequence[FileRow | BoundRow]) -> list[dict[str, object]]:
    return [asdict(row) for row in rows]


def fill_page(page: str, tables: dict[str, str]) -> str:
    """The page with every block between `<!-- NAME -->` and `<!-- end -->` replaced by the table of that name."""
    for name, body in tables.items():
        head = f"<!-- {name} -->"
        before, found, rest = page.partition(head)
        if not found or _END not in rest:
            raise PactError(f"no block between {head} and {_END}", where="page")
        page = f"{before}{head}\n{body}\n{_END}{rest.partition(_END)[2]}"
    return page


def markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in (head, *body)) for column in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    return "\n".join([line(head), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(line, body)])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"


def _percent_up(share: float | None) -> str:
    """Bounds are rounded up: a bound that was rounded down would not hold."""
    return "-" if share is None else f"{math.ceil(10_000 * share) / 100:.2f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
