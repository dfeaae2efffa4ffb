"""Tables that grow by one file a row: quantities, bounds, methods, experiments, layer kinds, rewrites."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Protocol, TypeVar

from netpact.core.errors import PactError, one_of


class Named(Protocol):
    @property
    def name(self) -> str: ...


RowT = TypeVar("RowT", bound=Named)


class Table(Mapping[str, RowT]):
    """Rows by name, in the order in which they were added.

    what    what a row is, for errors: "quantity"
    places  packages whose modules add rows when they are imported: that happens when the table is first read. A *
            stands for every package there: "netpact.papers.*.quantities". A package that does not exist adds nothing

    A program of the user's adds rows with `add`, before or after.
    """

    def __init__(self, what: str, *places: str) -> None:
        self._what, self._places = what, places
        self._rows: dict[str, RowT] = {}
        self._complete = False

    def add(self, row: RowT) -> RowT:
        """Give the row back, so that a module can name it in the same line."""
        known = self._rows.get(row.name)
        if known is not None and known != row:
            raise PactError(f"there is a {self._what} of this name already", where=row.name, hint="choose another name")
        self._rows[row.name] = row
        return row

    def __getitem__(self, name: str) -> RowT:
        self._fill()
        if name not in self._rows:
            raise KeyError(name)
        return self._rows[name]

    def look_up(self, name: object) -> RowT:
        """The row, or an error that lists the names there are."""
        if not isinstance(name, str) or name not in self:
            raise one_of(name, self, option=self._what)
        return self[name]

    def __iter__(self) -> Iterator[str]:
        self._fill()
        return iter(self._rows)

    def __len__(self) -> int:
        self._fill()
        return len(self._rows)

    def _fill(self) -> None:
        if self._complete:
            return
        self._complete = True  # first: the modules may look into the table themselves
        try:
            for package in self._packages():
                _import_all(package)
        except BaseException:
            self._complete = False  # half a table would look like a whole one
            raise

    def _packages(self) -> Iterator[str]:
        for place in self._places:
            before, star, after = place.partition(".*")
            yield from (f"{before}.{name}{after}" for name in _names_in(before)) if star else (place,)


def _names_in(package: str) -> list[str]:
    return sorted(found.name for found in pkgutil.iter_modules(importlib.import_module(package).__path__))


def _import_all(package: str) -> None:
    module = _import_if_there(package)
    if module is not None and hasattr(module, "__path__"):
        for name in _names_in(package):
            importlib.import_module(f"{package}.{name}")


def _import_if_there(package: str) -> ModuleType | None:
    """None where there is no such module; an error inside of one is not hidden."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name is not None and package.startswith(error.name):
            return None
        raise
