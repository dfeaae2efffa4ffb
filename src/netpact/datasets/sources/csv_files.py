"""Tables in text files, FILE.csv or FILE.tsv: read piece by piece, each number as the nearest float64, then float32."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets.reading import Reading
from netpact.datasets.sources.spool import Spool
from netpact.datasets.sources.tables import FIRST, LAST, Classes, Columns, Table, choose_columns

ENDINGS = (".csv", ".tsv")
_PIECE = 1 << 23
_LONGEST = 1 << 26  # bytes of one line
_MISSING = ("", "na", "n/a", "nan", "null", "none", "?")
_DELIMITERS = (",", ";", "\t")


def read_table(path: Path, reading: Reading, *, like: Table | None = None, progress: Progress | None = None) -> Table:
    """like: the training part, whose columns and classes the test part must have."""
    reading.refuse("size", "colours", where=str(path))
    pieces = _pieces(path, progress)
    number, lines = next(pieces, (1, []))
    if not lines:
        raise PactError("the file is empty", where=str(path))
    delimiter = "\t" if path.suffix == ".tsv" else max(_DELIMITERS, key=lines[0].count)
    first = next(csv.reader(lines[:1], delimiter=delimiter))
    columns, has_header = _columns(first, reading, where=str(path))
    if like is not None and not columns.fits(like.columns):
        raise PactError("other columns than the training part has", where=str(path))
    inputs, classes = Spool(str(path)), Classes(str(path))
    if has_header:
        number, lines = number + 1, lines[1:]
    rows = _Rows(path, delimiter, columns, len(first))
    while True:
        if any(line.strip() for line in lines):
            x, labels = rows.read(number, lines)
            inputs.append(x)
            classes.append(labels)
        found = next(pieces, None)
        if found is None:
            break
        number, lines = found
    x = inputs.finish()
    labels_of, names = classes.finish(None if like is None else like.class_names)
    return Table(x, labels_of, names, columns)


def _columns(first: list[str], reading: Reading, *, where: str) -> tuple[Columns, bool]:
    """A first line is a header if a cell beside the label is no number, or if it is 0, 1, 2, ... as pandas writes."""
    named = [cell.strip() for cell in first]
    plain = choose_columns((), len(named), Reading(label=FIRST if reading.label == FIRST else ""), where=where)
    cells = [named[place] for place in plain.inputs]
    counted = [str(place) for place in range(len(cells))]
    wants_names = bool(reading.columns) or reading.label not in ("", FIRST, LAST)
    if not wants_names and all(map(_is_number, cells)) and (cells != counted or len(cells) < 2):
        return plain, False
    if "" in named:
        raise PactError(
            f"column {named.index('') + 1} has no name",
            where=f"{where}, line 1",
            hint="a row number would tell the class; DataFrame.to_csv(path, index=False) leaves it out",
        )
    return choose_columns(named, len(named), reading, where=where), True


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.lower() in _MISSING
    return True


@dataclass(frozen=True)
class _Rows:
    path: Path
    delimiter: str
    columns: Columns
    width: int

    def read(self, number: int, lines: list[str]) -> tuple[NDArray[np.float32], list[str]]:
        """The inputs and labels of some lines; number: of the first one. numpy reads them, this code finds faults."""
        full = [line for line in lines if line.strip()]
        options = {"delimiter": self.delimiter, "comments": None, "quotechar": '"', "ndmin": 2}
        try:
            whole = np.loadtxt(full, dtype=np.float64, usecols=self.columns.inputs, **options)  # type: ignore[call-overload]
            labels = np.loadtxt(full, dtype=str, usecols=[self.columns.label], **options)[:, 0]  # type: ignore[call-overload]
            with np.errstate(over="ignore"):
                x = whole.astype(np.float32)
        except (ValueError, OverflowError) as error:
            self._find_fault(number, lines)
            raise PactError(
                f"cannot be read as a table of numbers: {error}", where=f"{self.path}, line {number}"
            ) from error
        stripped = np.char.strip(labels)
        cells = [line.count(self.delimiter) for line in full]
        odd = any(count != self.width - 1 for count in cells)
        if odd or len(x) != len(full) or not np.isfinite(x).all() or np.isin(np.char.lower(stripped), _MISSING).any():
            self._find_fault(number, lines)
        return x, stripped.tolist()

    def _find_fault(self, number: int, lines: list[str]) -> None:
        """Cell by cell: the first that cannot be used, with its line and column."""
        for place, line in enumerate(lines):
            if not line.strip():
                continue
            where = f"{self.path}, line {number + place}"
            try:
                cells = next(csv.reader([line], delimiter=self.delimiter, strict=True))
            except csv.Error as error:
                raise PactError(f"cannot be split into cells: {error}", where=where) from error
            if len(cells) != self.width:
                raise PactError(f"{len(cells)} cells, the first line has {self.width}", where=where)
            for column in (*self.columns.inputs, self.columns.label):
                self._check_cell(cells[column].strip(), column, where=f"{where}, {self.columns.name(column)}")

    def _check_cell(self, cell: str, column: int, *, where: str) -> None:
        if cell.lower() in _MISSING:
            raise PactError(
                f"a missing value: {cell!r}",
                where=where,
                hint="fill it by a rule that was fixed before the data, or leave the column out",
            )
        if column == self.columns.label:
            return
        try:
            number = float(cell)
        except ValueError as error:
            raise PactError(
                f"not a number: {cell!r:.60}", where=where, hint="write categories as numbers, or choose columns=A,B"
            ) from error
        if not abs(number) <= float(np.finfo(np.float32).max):
            raise PactError(f"too large for float32: {cell:.60}", where=where)


def _pieces(path: Path, progress: Progress | None) -> Iterator[tuple[int, list[str]]]:
    """Some megabytes of lines at a time, and the number of the first of them."""
    number, rest, done = 1, b"", 0
    try:
        total = path.stat().st_size
        with path.open("rb") as file:
            while True:
                piece = file.read(_PIECE)
                done += len(piece)
                *whole, rest = (rest + piece).split(b"\n")
                if not piece:
                    whole, rest = ([*whole, rest] if rest else whole), b""
                if len(rest) > _LONGEST:
                    raise PactError(f"a line of more than {_LONGEST:,} bytes", where=f"{path}, line {number}")
                if whole:
                    yield number, _decode(whole, number, path)
                    number += len(whole)
                if progress is not None:
                    progress(done, total)
                if not piece:
                    return
    except OSError as error:
        raise PactError(f"cannot be read: {error.strerror}", where=str(path)) from error


def _decode(lines: list[bytes], number: int, path: Path) -> list[str]:
    try:
        text = [line.decode().rstrip("\r") for line in lines]
        return [text[0].removeprefix("\ufeff"), *text[1:]] if number == 1 else text
    except UnicodeDecodeError:
        for place, line in enumerate(lines):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise PactError(
                    "not UTF-8 text", where=f"{path}, line {number + place}", hint="save the table as UTF-8"
                ) from error
        raise
