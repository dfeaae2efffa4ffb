"""Fresh samples, with or without labels, from what a user has: an .npz file, arrays, torch data, Samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data, Samples, as_samples
from netpact.datasets.arrays import to_array
from netpact.datasets.npz import read_arrays

_UNLABELLED, _LABELLED = "unlabelled data", "hold-out data"


def open_unlabelled(source: object) -> Samples:
    """Samples whose labels nobody looks at, from an .npz file with an array x, an array or tensor, or Samples."""
    if isinstance(source, Samples):
        return source
    if isinstance(source, (str, Path)):
        path = Path(source).expanduser()
        return _without_labels(_read_arrays(path, ("x",), what=_UNLABELLED)["x"], name=path.stem)
    if isinstance(source, (tuple, list, Data)):
        raise PactError(
            f"must be unlabelled inputs, got {type(source).__name__}",
            where=_UNLABELLED,
            hint="give one array of inputs, an .npz file with an array x, or Samples (their labels are not looked at)",
        )
    return _without_labels(to_array(source, where=_UNLABELLED), name=_UNLABELLED)


def open_labelled(source: object, *, classes: int) -> Samples:
    """Samples from an .npz file with arrays x and y, or anything that as_samples takes."""
    if isinstance(source, Data):
        raise PactError(
            "must be samples, got Data",
            where=_LABELLED,
            hint="give the part that nothing was chosen by, such as data.train of a file of fresh samples",
        )
    if isinstance(source, (str, Path)):
        path = Path(source).expanduser()
        arrays = _read_arrays(path, ("x", "y"), what=_LABELLED)
        return ArraySamples(arrays["x"], arrays["y"], path.stem, classes)
    return as_samples(source, name=_LABELLED, classes=classes)


def _without_labels(inputs: NDArray[Any], *, name: str) -> ArraySamples:
    count = len(inputs) if inputs.ndim else 0
    return ArraySamples(inputs, np.zeros(count, dtype=np.int64), name, classes=2)


def _read_arrays(path: Path, keys: tuple[str, ...], *, what: str) -> dict[str, NDArray[Any]]:
    """The arrays of an untrusted .npz file, under these names."""
    if path.suffix != ".npz":
        raise PactError(f"must be a path that ends in .npz, got {path}", where=what)
    hint = f"write it with np.savez_compressed(path, {', '.join(f'{key}=...' for key in keys)})"
    needed = "one array x" if len(keys) == 1 else f"the arrays {' and '.join(keys)}"

    def choose(names: list[str]) -> tuple[str, ...]:
        if any(names.count(key) != 1 for key in keys):
            present = ", ".join(sorted(names)) or "nothing"
            raise PactError(f"must hold {needed}; holds {present}", where=str(path), hint=hint)
        return keys

    return read_arrays(path, choose, hint=hint)
