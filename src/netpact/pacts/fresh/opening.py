"""Fresh samples, with or without labels, from what a user has: a file or folder, arrays, torch data, Samples.

An .npz file with an array x has the inputs as the network receives them. Every other place is read as load_data reads
it, and standardised as the certified data are.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.datasets import ArraySamples, Data, Samples, as_samples, load_data
from netpact.datasets.arrays import to_array
from netpact.datasets.npz import TRAIN_KEYS, array_names, read_arrays
from netpact.datasets.reading import split_place
from netpact.datasets.sources.folders import has_loose_images, read_loose_images
from netpact.datasets.standardising import standardise_samples

_UNLABELLED, _LABELLED = "unlabelled data", "hold-out data"


def open_unlabelled(source: object, *, like: Data | None = None) -> Samples:
    """Samples whose labels nobody looks at: an array or tensor, Samples, or the path of a file or folder.

    like  the certified data: what is read from a place is standardised as they are
    """
    if isinstance(source, Samples):
        return source
    if isinstance(source, (str, Path)):
        path = Path(source).expanduser()
        if _holds_arrays(path, ("x",)):
            return _without_labels(_read_arrays(path, ("x",))["x"], name=path.stem)
        return _standardised(_read_inputs(source), like)
    if isinstance(source, (tuple, list, Data)):
        raise PactError(
            f"must be unlabelled inputs, got {type(source).__name__}",
            where=_UNLABELLED,
            hint="give one array of inputs, an .npz file with an array x, or Samples (their labels are not looked at)",
        )
    return _without_labels(to_array(source, where=_UNLABELLED), name=_UNLABELLED)


def open_labelled(source: object, *, like: Data) -> Samples:
    """Anything that as_samples takes, or the path of a file or folder.

    like  the certified data: classes with names are numbered as they are there
    """
    if isinstance(source, Data):
        raise PactError(
            "must be samples, got Data",
            where=_LABELLED,
            hint="give the part that nothing was chosen by, such as data.train of a file of fresh samples",
        )
    if isinstance(source, (str, Path)):
        path = Path(source).expanduser()
        if _holds_arrays(path, ("x", "y")):
            arrays = _read_arrays(path, ("x", "y"))
            return ArraySamples(arrays["x"], arrays["y"], path.stem, like.classes)
        return _standardised(_numbered_like(_read_part(source, what=_LABELLED), like), like)
    return as_samples(source, name=_LABELLED, classes=like.classes)


def _read_inputs(source: str | Path) -> ArraySamples:
    place, reading, _ = split_place(str(source))
    folder = Path(place).expanduser()
    if folder.is_dir() and has_loose_images(folder):
        images = _without_labels(read_loose_images(folder, reading), name=folder.resolve().name)
        return images if reading.standardise is None else replace(images, standardised=reading.standardise)
    return cast(ArraySamples, _read_part(source, what=_UNLABELLED).train)


def _read_part(source: str | Path, *, what: str) -> Data:
    """The one part of what load_data reads."""
    data = load_data(source)
    if data.test is not None:
        raise PactError(
            f"{source} has a training and a test part: which of them is fresh?",
            where=what,
            hint="give a file or folder with the fresh samples alone",
        )
    return data


def _numbered_like(fresh: Data, like: Data) -> ArraySamples:
    """The labels of classes with names, numbered as the certified data number them."""
    samples = cast(ArraySamples, fresh.train)  # load_data makes no other kind
    if not (fresh.class_names and like.class_names):
        return replace(samples, classes=like.classes)
    unknown = [name for name in fresh.class_names if name not in like.class_names]
    if unknown:
        raise PactError(
            f"a class {unknown[0]!r} that the certified data do not have",
            where=samples.name,
            hint=f"theirs are {', '.join(like.class_names)}"[:200],
        )
    numbers = np.array([like.class_names.index(name) for name in fresh.class_names], dtype=np.int64)
    return replace(samples, labels=numbers[samples.labels], classes=like.classes)


def _standardised(samples: ArraySamples, like: Data | None) -> Samples:
    wanted = None if like is None else like.standardised
    if samples.standardised == wanted:
        return samples
    if wanted is None or samples.standardised is not None:
        raise PactError(
            f"standardised by {samples.standardised}, the certified data by {wanted or 'nothing'}",
            where=samples.name,
            hint="leave it out: fresh samples are standardised as the certified data are",
        )
    return standardise_samples(samples, wanted, name=samples.name)


def _without_labels(inputs: NDArray[Any], *, name: str) -> ArraySamples:
    count = len(inputs) if inputs.ndim else 0
    return ArraySamples(inputs, np.zeros(count, dtype=np.int64), name, classes=2)


def _holds_arrays(path: Path, keys: tuple[str, ...]) -> bool:
    """Whether it is an .npz file with these arrays; one with neither these nor training samples is refused."""
    if path.suffix != ".npz":
        return False
    names = array_names(path, hint=_written(keys))
    if all(names.count(key) == 1 for key in keys):
        return True
    if {key.partition(".")[0] for key in names}.issuperset(TRAIN_KEYS):
        return False
    needed = "one array x" if len(keys) == 1 else f"the arrays {' and '.join(keys)}"
    present = ", ".join(sorted(names)) or "nothing"
    raise PactError(f"must hold {needed}; holds {present}", where=str(path), hint=_written(keys))


def _read_arrays(path: Path, keys: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """The arrays of an untrusted .npz file, under these names."""
    return read_arrays(path, lambda _: keys, hint=_written(keys))


def _written(keys: tuple[str, ...]) -> str:
    return f"write it with np.savez_compressed(path, {', '.join(f'{key}=...' for key in keys)})"
