"""Fresh inputs without labels, and the check that none of them is among the training or test samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data, Samples, find_copies, leave_out
from netpact.datasets.arrays import to_array
from netpact.datasets.npz import read_arrays
from netpact.datasets.overlap import Inputs, find_overlap

_KEY = "x"
_NAME = "unlabelled data"


def open_unlabelled(source: object) -> Samples:
    """Samples whose labels nobody looks at, from an .npz file with an array x, an array or tensor, or Samples."""
    if isinstance(source, Samples):
        return source
    if isinstance(source, (str, Path)):
        path = Path(source).expanduser()
        return _without_labels(_read_inputs(path), name=path.stem)
    if isinstance(source, (tuple, list, Data)):
        raise PactError(
            f"must be unlabelled inputs, got {type(source).__name__}",
            where=_NAME,
            hint="give one array of inputs, an .npz file with an array x, or Samples (their labels are not looked at)",
        )
    return _without_labels(to_array(source, where=_NAME), name=_NAME)


def _without_labels(inputs: NDArray[Any], *, name: str) -> ArraySamples:
    count = len(inputs) if inputs.ndim else 0
    return ArraySamples(inputs, np.zeros(count, dtype=np.int64), name, classes=2)


def _read_inputs(path: Path) -> NDArray[Any]:
    """The array x of an untrusted .npz file."""
    if path.suffix != ".npz":
        raise PactError(f"must be a path that ends in .npz, got {path}", where=_NAME)
    hint = f"write it with np.savez_compressed(path, {_KEY}=inputs)"

    def choose(names: list[str]) -> tuple[str, ...]:
        if names.count(_KEY) != 1:
            present = ", ".join(sorted(names)) or "nothing"
            raise PactError(f"must hold one array {_KEY}; holds {present}", where=str(path), hint=hint)
        return (_KEY,)

    return read_arrays(path, choose, hint=hint)[_KEY]


def drawn_inputs(fresh: Samples, *, repeats: bool) -> Samples:
    """Each input once, unless the distribution is declared to repeat values; labels of Samples do not matter."""
    return fresh if repeats else leave_out(fresh, find_copies(fresh, labels=False))


def refuse_overlap(inputs: Inputs, data: Data, *, name: str) -> None:
    """Inputs that took part in training, or test samples that may have guided a choice, are not fresh.

    Data with an overlap are refused as a whole: leaving samples out after looking at them would change what was drawn.
    """
    for part, samples in (("training", data.train), ("test", data.test)):
        overlap = None if samples is None else find_overlap(inputs, samples)
        if overlap is not None:
            raise PactError(
                f"{overlap[0]:,} of the {inputs.count:,} unlabelled inputs are {part} samples of {data.name}",
                where=f"{name}, sample {overlap[1]}",
                hint="the disagreement has to be measured on inputs that no choice has seen",
            )
