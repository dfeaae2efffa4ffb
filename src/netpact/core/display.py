"""How a result shows itself: one line, a table in a terminal or notebook, a pandas frame. One way for every record."""

from __future__ import annotations

import importlib
from typing import Any

from netpact.core.errors import PactError, printable

_LINE = 100  # characters of a repr
_NAME = 40

Row = dict[str, object]


class Displayed:
    """A frozen dataclass (repr=False) that says what is worth knowing about it, the most important first.

    display_facts  name and value; they make the line, and the table of a record that is one row
    display_rows   plain numbers and texts under the names of their columns; one row unless the record is a listing
    display_text   what print() shows, where tables of these are not the best
    """

    def display_facts(self) -> Row:
        raise NotImplementedError

    def display_rows(self) -> list[Row]:
        return [self.display_facts()]

    def display_caption(self) -> str:
        """What stands above the table of a record that is one row."""
        return type(self).__name__

    def __repr__(self) -> str:
        shown, facts = f"{type(self).__name__}(", list(_known(self.display_facts()).items())
        for place, (name, value) in enumerate(facts):
            part = f"{', ' if place else ''}{name}={_line_text(value)}"
            if len(shown) + len(part) > _LINE - len(", ...)"):
                return f"{shown}{', ' if place else ''}...)"
            shown += part
        return f"{shown})"

    def display_text(self) -> str:
        """What print() shows: the facts, or the rows below the line; records with words of their own say these."""
        from netpact.core.rendering import facts_as_text, rows_as_text  # a decoder never needs it

        rows = self.display_rows()
        if len(rows) > 1:
            return f"{self!r}\n{rows_as_text(rows)}"
        return f"{type(self).__name__}\n{facts_as_text(_known(self.display_facts()))}"

    def __str__(self) -> str:
        """Whatever the text quotes, a terminal takes none of it for a command."""
        return "\n".join(map(printable, self.display_text().split("\n")))

    def __rich__(self) -> Any:
        """The same for rich.print(), with nothing in it taken for markup."""
        from rich.text import Text

        return Text(str(self))

    def _repr_html_(self) -> str:
        from netpact.core.rendering import facts_as_html, rows_as_html

        rows = self.display_rows()
        if len(rows) > 1:
            return rows_as_html(repr(self), rows)
        return facts_as_html(self.display_caption(), _known(self.display_facts()))

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


def _line_text(value: object) -> str:
    from netpact.core.rendering import shorten, text_of

    if not isinstance(value, str):
        return text_of(value) if isinstance(value, float) else repr(value)
    return f"'{shorten(value, _NAME)}'"
