"""How data are read where their place alone does not say it, as a record and in the name of the data."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from netpact.core.checks import check_choice, check_instance, check_integer, plain
from netpact.core.errors import PactError, one_of
from netpact.datasets.standardising import Standardise, parse_standardise

SORTED = "sorted"
COLOURS = ("", "grey", "rgb")
MOST_PIXELS_A_SIDE = 4096
_KEY = re.compile(r"([a-z_-]+)=(.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Options for reading data. What is done to inputs is a fixed function of each sample alone.

    size         images: the central square, scaled to so many pixels a side; None: as stored, all of one size
    colours      images: "grey" or "rgb"; "": grey if all of them are, else rgb
    label        tables: the column with the class; a name, "first" or "last"; "": a column named label, else the last
    columns      tables: what the network receives, by name; (): every column but the label
    standardise  constants that were fixed before the sample was drawn; see Standardise
    """

    size: int | None = None
    colours: str = ""
    label: str = ""
    columns: tuple[str, ...] = ()
    standardise: Standardise | None = None

    def __post_init__(self) -> None:
        if self.size is not None:
            size = check_integer(plain(self.size), where="size", least=1, most=MOST_PIXELS_A_SIDE)
            object.__setattr__(self, "size", size)
        check_choice(self.colours, COLOURS, where="colours")
        check_instance(self.label, str, where="label")
        check_instance(self.columns, tuple, where="columns", hint='write ("age", "height")')
        for column in self.columns:
            check_instance(column, str, where="columns")
        if len(set(self.columns)) != len(self.columns):
            raise PactError("a column is named twice", where="columns")
        if self.standardise is not None:
            check_instance(self.standardise, Standardise, where="standardise", hint="write Standardise(mean, std)")

    def __str__(self) -> str:
        """As it stands after the place, ":size=32:colours=grey": what was not given is left out."""
        written = {
            "size": "" if self.size is None else str(self.size),
            "colours": self.colours,
            "label": self.label,
            "columns": ",".join(self.columns),
            "standardise": "" if self.standardise is None else str(self.standardise),
        }
        return "".join(f":{key}={value}" for key, value in written.items() if value)

    def refuse(self, *names: str, where: str) -> None:
        """An error for options that mean nothing for these data."""
        for name in names:
            if getattr(self, name) not in (None, "", ()):
                raise PactError(f"{name} means nothing for these data", where=where, hint="leave it out")


KEYS = tuple(entry.name for entry in fields(Reading))


def split_place(text: str) -> tuple[str, Reading, bool]:
    """A name or path, what stands behind it, and whether samples are to be sorted: "photos:size=32:sorted"."""
    given: dict[str, str] = {}
    is_sorted = False
    while True:
        place, colon, last = text.rpartition(":")
        if colon and place and last == SORTED:
            text, is_sorted = place, True
            continue
        found = _KEY.fullmatch(last) if colon and place else None
        if found is None:
            return text, _make(given), is_sorted
        key, value = found[1], found[2]
        if key not in KEYS:
            raise one_of(key, KEYS, option="data")
        if key in given or not value:
            raise PactError("given twice" if value else "no value", where=f"data, {key}")
        given[key] = value
        text = place


def _make(given: dict[str, str]) -> Reading:
    size = given.get("size")
    if size is not None and not re.fullmatch("[0-9]{1,5}", size, re.ASCII):
        raise PactError(f"must be a number of pixels, got {size!r:.40}", where="data, size", hint="write size=32")
    constants = given.get("standardise")
    return Reading(
        size=None if size is None else int(size),
        colours=given.get("colours", ""),
        label=given.get("label", ""),
        columns=tuple(given["columns"].split(",")) if "columns" in given else (),
        standardise=None if constants is None else parse_standardise(constants),
    )
