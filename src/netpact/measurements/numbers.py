"""Numbers of samples as they come back from workers and are kept in files: to the last bit, and nothing pickled."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from netpact.core.json import JsonValue
from netpact.measurements.quantity import Numbers


def pack_numbers(found: Mapping[str, Numbers]) -> dict[str, JsonValue]:
    """One row of float64 for each sample, little-endian, by name."""
    return {name: base64.b64encode(np.asarray(rows, dtype="<f8").tobytes()).decode() for name, rows in found.items()}


def join_numbers(parts: Sequence[Any]) -> dict[str, Numbers]:
    """Those of all parts, one after the other; a name that one of them lacks is left out of all."""
    names = [name for name in parts[0] if all(name in part for part in parts)]
    return {name: np.concatenate([_unpack(part[name]) for part in parts]) for name in names}


def _unpack(text: str) -> Numbers:
    return np.frombuffer(base64.b64decode(text), dtype="<f8").astype(np.float64)
