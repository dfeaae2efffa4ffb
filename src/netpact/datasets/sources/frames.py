"""DataFrames of pandas and polars, and whatever else has columns that become arrays. Neither library is imported."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.datasets.reading import Reading
from netpact.datasets.sources.tables import Classes, Table, choose_columns


def is_frame(source: object) -> bool:
    """A table by its methods: columns with names, each of which becomes an array."""
    columns = getattr(source, "columns", None)
    return columns is not None and hasattr(source, "__getitem__") and hasattr(source, "to_numpy")


def read_frame(frame: Any, reading: Reading, *, name: str, like: Table | None = None) -> Table:
    """The same samples, and the same fingerprint, as the file that to_csv(index=False) writes.

    like  the training part, whose columns and classes the test part must have
    """
    reading.refuse("size", "colours", where=name)
    given = list(frame.columns)
    columns = choose_columns([str(column) for column in given], len(given), reading, where=name)
    if like is not None and not columns.fits(like.columns):
        raise PactError("other columns than the training part has", where=name)
    count = len(frame)
    if not count:
        raise PactError("no samples", where=name)
    x = np.empty((count, len(columns.inputs)), dtype=np.float32)
    for place, column in enumerate(columns.inputs):
        x[:, place] = _numbers(frame[given[column]].to_numpy(), where=f"{name}, {columns.name(column)}")
    classes = Classes(name)
    classes.append(_texts(frame[given[columns.label]].to_numpy(), where=f"{name}, {columns.name(columns.label)}"))
    labels, names = classes.finish(None if like is None else like.class_names)
    return Table(x, labels, names, columns)


def _numbers(values: NDArray[Any], *, where: str) -> NDArray[np.float32]:
    _refuse_missing(values, where=where)
    if values.dtype.kind == "O":  # columns that may have missing values, of numbers that have none
        try:
            values = np.array([_number(value) for value in values])
        except TypeError as error:
            raise PactError(str(error), where=where, hint="write categories as numbers, or choose columns") from error
    if values.dtype.kind not in "iufb":
        raise PactError(
            f"not numbers, but {values.dtype}", where=where, hint="write categories as numbers, or choose columns"
        )
    with np.errstate(over="ignore"):
        # By way of float64, as numbers in text files are read.
        numbers = values.astype(np.float64).astype(np.float32)
    fine = np.isfinite(numbers)
    if not fine.all():
        raise PactError("an infinite number, or one too large for float32", where=f"{where}, row {np.argmin(fine)}")
    return numbers


def _number(value: object) -> float:
    if isinstance(value, (int, float, np.number, np.bool_)):
        return float(value)
    raise TypeError(f"not a number: {value!r:.60}")


def _texts(values: NDArray[Any], *, where: str) -> list[str]:
    _refuse_missing(values, where=where)
    return [str(value) for value in values.tolist()]


def _refuse_missing(values: NDArray[Any], *, where: str) -> None:
    if values.ndim != 1:
        raise PactError(f"one value for each row, got shape {values.shape}", where=where)
    if values.dtype.kind == "O":
        # pandas' own NA is equal to nothing, and says so by a TypeError when asked for a truth value.
        missing = np.array([value is None or str(value) in ("<NA>", "nan", "NaT") for value in values])
    else:
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    if missing.any():
        raise PactError(
            "a missing value",
            where=f"{where}, row {np.argmax(missing)}",
            hint="fill it by a rule that was fixed before the data, or leave the column out",
        )
