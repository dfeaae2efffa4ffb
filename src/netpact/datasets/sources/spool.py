"""Rows that are decoded one batch after another: in memory while they are few, else in a temporary file."""

from __future__ import annotations

import tempfile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.datasets.sources.mapped import is_mapped

KEPT_BYTES = 64 * 2**20  # in memory; more goes to a file, which the system reads back page by page


class Spool:
    """An array that grows by rows of one shape and type. The file has no name and is gone when the array is."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._waiting: list[NDArray[Any]] = []
        self._held = 0
        self._file: IO[bytes] | None = None
        self._count = 0
        self._kind: tuple[np.dtype[Any], tuple[int, ...]] | None = None

    def append(self, rows: NDArray[Any]) -> None:
        kind = (rows.dtype, rows.shape[1:])
        self._kind = self._kind or kind
        if kind != self._kind:
            raise PactError(
                f"inputs of shape {kind[1]} and type {kind[0]} after inputs of shape {self._kind[1]} and type "
                f"{self._kind[0]}",
                where=f"{self._where}, from sample {self._count}",
            )
        self._waiting.append(np.ascontiguousarray(rows))
        self._held += rows.nbytes
        self._count += len(rows)
        if self._held > KEPT_BYTES:
            self._write()

    def _write(self) -> None:
        try:
            self._file = self._file or tempfile.TemporaryFile(prefix="netpact-")  # noqa: SIM115
            for rows in self._waiting:
                self._file.write(rows.data if rows.dtype.names is None else rows.tobytes())
            self._file.flush()
        except OSError as error:
            raise PactError(
                f"the temporary file for the decoded samples cannot be written: {error}",
                where=self._where,
                hint=f"make room in {tempfile.gettempdir()}, or set TMPDIR to a folder with room",
            ) from error
        self._waiting, self._held = [], 0

    def finish(self) -> NDArray[Any]:
        if self._kind is None:
            raise PactError("no samples", where=self._where)
        dtype, shape = self._kind
        if self._file is None:
            return np.concatenate(self._waiting)
        self._write()
        with self._file as file:  # the mapping holds on to the file by itself
            return np.memmap(file, dtype=dtype, mode="r", shape=(self._count, *shape))


def take_rows(x: NDArray[Any], places: NDArray[np.int64], *, where: str) -> NDArray[Any]:
    """x[places]; of an array in a file, another file where that is large."""
    row_bytes = max(1, x[:1].nbytes)
    if not is_mapped(x) or len(places) * row_bytes <= KEPT_BYTES:
        return x[places]
    taken, step = Spool(where), max(1, KEPT_BYTES // 4 // row_bytes)
    for start in range(0, len(places), step):
        taken.append(x[places[start : start + step]])
    return taken.finish()
