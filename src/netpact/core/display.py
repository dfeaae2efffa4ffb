"""How a result shows itself: one line, a small table in a notebook, a pandas frame. One way for every record."""

from __future__ import annotations

import html
import importlib
import math
from typing import Any

from netpact.core.errors import PactError, printable

_LINE = 100  # characters of a repr
_NAME = 40
_MOST_ROWS = 60
# Literal colours, ground and ink together in every cell: readable in a light and in a dark notebook.
_CELL = "padding:3px 10px;border:1px solid #d8dee4;background:#ffffff;color:#1b1f24;text-align:{side}"
_HEAD = _CELL.replace("#ffffff", "#f4f6f8") + ";font-weight:600"

Row = dict[str, object]


class Displayed:
    """A frozen dataclass (repr=False) that says what is worth knowing about it, the most important first.

    display_facts  name and value; they make the line, and the table of a record that is one row
    display_rows   plain numbers and texts under the names of their columns; one row unless the record is a listing
    """

    def display_facts(self) -> Row:
        raise NotImplementedError

    def display_rows(self) -> list[Row]:
        return [self.display_facts()]

    def __repr__(self) -> str:
        shown, facts = f"{type(self).__name__}(", list(_known(self.display_facts()).items())
        for place, (name, value) in enumerate(facts):
            part = f"{', ' if place else ''}{name}={_line_text(value)}"
            if len(shown) + len(part) > _LINE - len(", ...)"):
                return f"{shown}{', ' if place else ''}...)"
            shown += part
        return f"{shown})"

    def _repr_html_(self) -> str:
        rows, facts = self.display_rows(), _known(self.display_facts())
        if len(rows) == 1:
            body = "".join(f"<tr>{_cell(name, head=True)}{_cell(_text(value))}</tr>" for name, value in facts.items())
        else:
            columns = list(dict.fromkeys(name for row in rows for name in row))
            lines = [[_cell(row.get(name)) for name in columns] for row in rows[:_MOST_ROWS]]
            body = "".join(
                f"<tr>{''.join(cells)}</tr>" for cells in ([_cell(name, head=True) for name in columns], *lines)
            )
        left_out = f"; the first {_MOST_ROWS} of {len(rows)} rows" if len(rows) > _MOST_ROWS else ""
        caption = repr(self) if len(rows) > 1 else type(self).__name__
        style = "border-collapse:collapse;font-size:13px"
        top = "background:#ffffff;color:#1b1f24;text-align:left;font-weight:600;padding:3px 10px"
        return f'<table style="{style}"><caption style="{top}">{_escape(caption + left_out)}</caption>{body}</table>'

    def to_frame(self) -> Any:
        """A pandas DataFrame of plain numbers and texts; pandas has to be installed."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise PactError("pandas is not installed", where="to_frame", hint="pip install pandas") from error
        return pandas.DataFrame(self.display_rows())


def _known(facts: Row) -> Row:
    """Without what there is nothing to say about."""
    return {name: value for name, value in facts.items() if value is not None and value != ""}


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else str(value)
    return _shorten(str(value), _LINE)


def _line_text(value: object) -> str:
    if not isinstance(value, str):
        return _text(value) if isinstance(value, float) else repr(value)
    return f"'{_shorten(value, _NAME)}'"


def _shorten(text: str, most: int) -> str:
    # The first cut keeps a text of megabytes cheap.
    shown = printable(text[: most + 1])
    return f"{shown[: most - 3]}..." if len(shown) > most else shown


def _cell(value: object, *, head: bool = False) -> str:
    side = "right" if isinstance(value, (int, float)) and not isinstance(value, bool) else "left"
    style = (_HEAD if head else _CELL).format(side=side)
    tag = "th" if head else "td"
    return f'<{tag} style="{style}">{_escape(_text(value))}</{tag}>'


def _escape(text: str) -> str:
    return html.escape(text, quote=True)
