"""Rows of plain values as a table: text for a terminal, HTML for a notebook. Texts may come from a hostile file."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

from netpact.core.display import Row
from netpact.core.errors import printable

MOST_TEXT = 100  # characters of a value
MOST_ROWS = 60
_MOST_COLUMN = 48  # characters of a column in a terminal
_SCREEN = 100
_MOST_CAPTION = 1000
# Literal colours, ground and ink together in every cell: readable in a light and in a dark notebook.
_CELL = "padding:3px 10px;border:1px solid #d8dee4;background:#ffffff;color:#1b1f24;text-align:{side}"
_HEAD = _CELL.replace("#ffffff", "#f4f6f8") + ";font-weight:600"
_TOP = "background:#ffffff;color:#1b1f24;text-align:left;font-weight:600;padding:3px 10px"


def text_of(value: object, *, most: int = MOST_TEXT) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else str(value)
    return shorten(str(value), most)


def shorten(text: str, most: int) -> str:
    # The first cut keeps a text of megabytes cheap.
    shown = printable(text[: most + 1])
    return f"{shown[: most - 3]}..." if len(shown) > most else shown


def columns_of(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def facts_as_text(facts: Mapping[str, object]) -> str:
    """A line a fact."""
    width = max(len(text_of(name)) for name in facts) if facts else 0
    return "\n".join(f"  {text_of(name):<{width}}  {text_of(value)}" for name, value in facts.items())


def rows_as_text(rows: Sequence[Row]) -> str:
    """Aligned columns, as many as a screen holds; what is left out is counted in a last line."""
    columns: list[list[str]] = []
    names, used = columns_of(rows), 0
    for name in names:
        cells = [
            text_of(name, most=_MOST_COLUMN),
            *(text_of(row.get(name), most=_MOST_COLUMN) for row in rows[:MOST_ROWS]),
        ]
        width = max(map(len, cells))
        if columns and used + 2 + width > _SCREEN:
            break
        used += 2 + width
        right = all(_is_number(row.get(name)) or row.get(name) is None for row in rows)
        columns.append([cell.rjust(width) if right else cell.ljust(width) for cell in cells])
    lines = ["  " + "  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
    left_out = [f"{len(rows) - MOST_ROWS:,} rows"] if len(rows) > MOST_ROWS else []
    left_out += [f"{len(names) - len(columns)} columns"] if len(names) > len(columns) else []
    return "\n".join([*lines, *([f"  ... {' and '.join(left_out)} more: to_frame()"] if left_out else [])])


def facts_as_html(caption: str, facts: Mapping[str, object]) -> str:
    body = "".join(f"<tr>{_cell(name, head=True)}{_cell(text_of(value))}</tr>" for name, value in facts.items())
    return _table(caption, body)


def rows_as_html(caption: str, rows: Sequence[Row]) -> str:
    columns = columns_of(rows)
    lines = [[_cell(row.get(name)) for name in columns] for row in rows[:MOST_ROWS]]
    head = [_cell(name, head=True) for name in columns]
    left_out = f"; the first {MOST_ROWS} of {len(rows)} rows" if len(rows) > MOST_ROWS else ""
    return _table(caption + left_out, "".join(f"<tr>{''.join(cells)}</tr>" for cells in (head, *lines)))


def _table(caption: str, body: str) -> str:
    style = "border-collapse:collapse;font-size:13px"
    top = _escape(shorten(caption, _MOST_CAPTION))
    return f'<table style="{style}"><caption style="{_TOP}">{top}</caption>{body}</table>'


def _cell(value: object, *, head: bool = False) -> str:
    style = (_HEAD if head else _CELL).format(side="right" if _is_number(value) else "left")
    tag = "th" if head else "td"
    return f'<{tag} style="{style}">{_escape(text_of(value))}</{tag}>'


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _escape(text: str) -> str:
    return html.escape(text, quote=True)
