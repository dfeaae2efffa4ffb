"""What tables have in common: which columns are inputs, which one holds the class, and which class is which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError, one_of
from netpact.datasets.arrays import MAX_CLASSES
from netpact.datasets.reading import Reading

FIRST, LAST = "first", "last"
LABELS = ("label", "labels")
_TEST_CLASS = "a class that the training part does not have"


@dataclass(frozen=True)
class Columns:
    """By their places. names: of all columns, () where the table has no header."""

    names: tuple[str, ...]
    label: int
    inputs: tuple[int, ...]

    def name(self, place: int) -> str:
        return f"column {self.names[place]!r}" if self.names else f"column {place + 1}"

    def fits(self, other: Columns) -> bool:
        """Whether the inputs are the same ones: by name where there are names."""
        return [self.name(place) for place in self.inputs] == [other.name(place) for place in other.inputs]


@dataclass(frozen=True)
class Table:
    """What was read: one row of inputs for each sample. class_names: () where the labels are numbers."""

    inputs: NDArray[np.float32]
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    columns: Columns


def choose_columns(names: Sequence[str], count: int, reading: Reading, *, where: str) -> Columns:
    """names: of all columns, none if the table has no header."""
    doubled = sorted({name for name in names if list(names).count(name) > 1})
    if doubled:
        raise PactError(f"two columns are named {doubled[0]!r}", where=where)
    if reading.label in names:
        label = list(names).index(reading.label)
    elif reading.label in (FIRST, LAST):
        label = 0 if reading.label == FIRST else count - 1
    elif reading.label:
        raise one_of(reading.label, (*names, FIRST, LAST), option=f"{where}, label")
    else:
        known = [name for name in LABELS if name in names]
        label = list(names).index(known[0]) if known else count - 1
    for name in reading.columns:
        if name not in names:
            raise one_of(name, names or ("none: the table has no header",), option=f"{where}, columns")
    inputs = tuple(list(names).index(name) for name in reading.columns) or tuple(
        place for place in range(count) if place != label
    )
    columns = Columns(tuple(names), label, inputs)
    if label in inputs:
        raise PactError(f"{columns.name(label)} is the label, and an input as well", where=where)
    if not inputs:
        raise PactError("no column but the label", where=where)
    return columns


class Classes:
    """Labels as they stand in a table, numbered when all of them are known.

    Integers are class numbers already. Anything else is text: the classes are sorted by their text.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._codes: dict[str, int] = {}
        self._parts: list[NDArray[np.int64]] = []

    def append(self, labels: Sequence[str]) -> None:
        """The labels of some rows, none of them empty; so many codes as there are different ones are kept."""
        found, places = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
        if len(self._codes) + len(found) > 2 * MAX_CLASSES:
            raise PactError(
                f"more than {MAX_CLASSES:,} different labels, such as {found[0]!r:.60}",
                where=self._where,
                hint="is this the column of the labels? name it: label=NAME",
            )
        codes = np.array([self._codes.setdefault(text, len(self._codes)) for text in found.tolist()], dtype=np.int64)
        self._parts.append(codes[places.reshape(-1)])

    def finish(self, known: tuple[str, ...] | None = None) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Labels from 0, and the names of the classes, () for numbers. known: the names that the training part has."""
        texts = list(self._codes)
        numbers = [whole_number(text) for text in texts]
        names: tuple[str, ...] = ()
        if known == () or (known is None and all(number is not None for number in numbers)):
            wrong = next((text for text, number in zip(texts, numbers, strict=True) if number is None), None)
            if wrong is not None:
                raise PactError(f"{_TEST_CLASS}: {wrong!r:.60}", where=self._where)
            targets = [int(number) for number in numbers if number is not None]
        else:
            names = tuple(sorted(texts)) if known is None else known
            new = sorted(set(texts) - set(names))
            if new:
                raise PactError(f"{_TEST_CLASS}: {new[0]!r:.60}", where=self._where)
            order = {name: place for place, name in enumerate(names)}
            targets = [order[text] for text in texts]
        table: NDArray[Any] = np.array(targets, dtype=np.int64)
        return table[np.concatenate(self._parts)], names


def whole_number(text: str) -> int | None:
    """Also 3.0, which tables make of 3 when another row had none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 and "_" not in text else None
