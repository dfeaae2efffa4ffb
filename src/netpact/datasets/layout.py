"""Inputs that are not one array of real numbers: integer tokens, truth values, several arrays, more than four axes.

A sample always travels as one row of float32 numbers, so that counting, fingerprints and copies know one thing only.
Integers up to 2^24 are such numbers. The layout says how the row becomes what the network is called with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError

MOST_INTEGER = 1 << 24
_CHECKED = 1 << 22  # integers at once: the array may be in a file, and larger than memory
_KINDS = {"f": "float32", "u": "int64", "i": "int64", "b": "bool"}


@dataclass(frozen=True)
class Field:
    """One input of a network. name: of the argument, or its place among the unnamed ones, "0", "1", ..."""

    name: str
    shape: tuple[int, ...]
    kind: str

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.name}:{self.kind}:{'x'.join(map(str, self.shape))}"


Layout = tuple[Field, ...]


def layout_of(samples: object) -> Layout:
    """Of samples or data; empty where the network receives one tensor of real numbers, as it is stored."""
    found: Layout = getattr(samples, "layout", ())
    return found


def layout_of_array(x: NDArray[Any]) -> Layout:
    if x.dtype.names is not None:
        return tuple(_field(name, x.dtype[name]) for name in x.dtype.names)
    if x.dtype != np.uint8 and x.dtype.kind in "iub":
        return (Field("0", tuple(x.shape[1:]), _KINDS[x.dtype.kind]),)
    return ()


def _field(name: str, dtype: np.dtype[Any]) -> Field:
    """uint8 images become x/255, real numbers."""
    base = dtype.base
    return Field(name, tuple(dtype.shape), "float32" if base == np.uint8 else _KINDS[base.kind])


def shape_of(x: NDArray[Any]) -> tuple[int, ...]:
    """Of one sample as it travels: several inputs are one row."""
    layout = layout_of_array(x)
    return (sum(field.size for field in layout),) if x.dtype.names is not None else tuple(x.shape[1:])


def join_arrays(parts: Mapping[str, NDArray[Any]] | Sequence[NDArray[Any]], *, where: str) -> NDArray[Any]:
    """One array of records, one for each sample, from several arrays by name, or in order."""
    named = dict(parts) if isinstance(parts, Mapping) else {str(place): part for place, part in enumerate(parts)}
    if not named or not all(name.isidentifier() or name.isdigit() for name in named):
        raise PactError(f"inputs need names of arguments, got {', '.join(map(str, named)) or 'none'}", where=where)
    counts = {name: len(part) if part.ndim else 0 for name, part in named.items()}
    if len(set(counts.values())) != 1:
        raise PactError(f"all inputs must have one number of samples, got {counts}", where=where)
    types = [(name, _stored(part, where=f"{where}, {name}"), part.shape[1:]) for name, part in named.items()]
    joined = np.empty(next(iter(counts.values())), dtype=types)
    for name, part in named.items():
        joined[name] = part
    return joined


def restore(rows: NDArray[np.float32], layout: Layout) -> NDArray[Any]:
    """Samples as they travel, again as what they stand for."""
    if not layout:
        return rows
    types: dict[str, type] = {"float32": np.float32, "int64": np.int64, "bool": np.bool_}
    if len(layout) == 1 and layout[0].name == "0" and layout[0].kind != "float32":
        return rows.astype(types[layout[0].kind])
    parts: dict[str, NDArray[Any]] = {}
    start = 0
    for field in layout:
        part = rows[:, start : start + field.size].reshape(len(rows), *field.shape)
        parts[field.name], start = part.astype(types[field.kind]), start + field.size
    return join_arrays(parts, where="inputs")


def _stored(part: NDArray[Any], *, where: str) -> type:
    if part.dtype == np.uint8:
        return np.uint8
    kinds: dict[str, type] = {"f": np.float32, "i": np.int64, "u": np.int64, "b": np.bool_}
    if part.dtype.kind not in kinds or part.dtype.names is not None:
        raise PactError(f"inputs must be numbers or truth values, got {part.dtype}", where=where)
    if part.dtype.kind == "u" and part.size and int(part.max()) > MOST_INTEGER:
        raise PactError(f"integers must be at most 2^24, got {int(part.max())}", where=where)
    return kinds[part.dtype.kind]


def check_integers(x: NDArray[Any], *, where: str, first: int = 0) -> None:
    """float32 holds every integer up to 2^24; larger ones would become others."""
    if x.dtype.kind == "b" or not x.size or np.iinfo(x.dtype).max <= MOST_INTEGER:
        return
    step = max(1, _CHECKED // max(1, math.prod(x.shape[1:])))
    for start in range(0, len(x), step):
        part = x[start : start + step]
        fine = (np.minimum(part, MOST_INTEGER) == part) & (np.maximum(part, -MOST_INTEGER) == part)
        if fine.all():
            continue
        row = start + int(np.argmin(fine.reshape(len(part), -1).all(axis=1)))
        raise PactError(
            "integers must be from -2^24 to 2^24",
            where=f"{where}, sample {first + row}",
            hint="number tokens and categories from 0; give other numbers as float32",
        )
