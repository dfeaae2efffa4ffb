"""load_data: a data set by name, or from the place where it is."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from netpact.core.checks import check_integer
from netpact.core.errors import PactError, one_of
from netpact.core.progress import Progress
from netpact.datasets import openml
from netpact.datasets.arrays import check_labels, count_classes
from netpact.datasets.catalogue import KNOWN, KnownSet, cache_folder, data_folders
from netpact.datasets.npz import read_npz
from netpact.datasets.order import sort_samples
from netpact.datasets.reading import Reading, split_place
from netpact.datasets.samples import ArraySamples, Data
from netpact.datasets.sources.places import PLACES, is_place, read_place
from netpact.datasets.splits import split_indices
from netpact.datasets.standardising import standardise
from netpact.datasets.variants import vary

_log = logging.getLogger(__name__)
_DIGITS_TEST = 360
NAMES = ("digits", *KNOWN)


def load_data(
    name_or_path: str | Path,
    *,
    limit: int | None = None,
    reading: Reading | None = None,
    progress: Progress | None = None,
) -> Data:
    """A data set by name (digits, mnist, ...) or from its place.

    A place is an .npz file with x_train, y_train and maybe x_test, y_test; a table, FILE.csv; or a folder of
    images, of .npy files, of tables, or one that Hugging Face's library has saved.

    A name may have a variant: "mnist:permuted-pixels", "mnist:permuted-classes", "mnist:random-labels",
    "mnist:symmetric-0.2", "mnist:pair-0.4" (label noise; with "-clean-test" the test set keeps its labels).
    "mnist:sorted" and "mine.npz:sorted" have the training samples in an order that nobody can choose: see sort_samples.

    limit    use only the first `limit` training samples; the name says so: "mnist[:1000]"
    reading  how to read it, where the place does not say it; or in the text: "photos:size=32:standardise=0.5/0.5"
    """
    given = str(name_or_path)
    if os.path.exists(given):  # a path may hold colons, or be too long to be one
        text, own, is_sorted = given, Reading(), False
    else:
        text, own, is_sorted = split_place(given)
    if reading is not None and str(own):
        raise PactError(f"options in the name, {own}, and a reading as well", where="data", hint="give one of them")
    how = reading or own
    data = _load(text, how, progress)
    if how.standardise is not None:
        data = standardise(data, how.standardise)
    if is_sorted:
        data = sort_samples(data)
    return data if limit is None else _shorten(data, limit)


def _load(place: str, reading: Reading, progress: Progress | None) -> Data:
    """Before it is standardised, sorted and shortened."""
    text, _, variant = place.partition(":")
    if text not in NAMES:
        text, variant = place, ""
        if is_place(text):
            data = read_place(Path(text).expanduser(), reading, progress=progress)
            return replace(data, name=f"{data.name}{replace(reading, standardise=None)}")
    reading.refuse("size", "colours", "label", "columns", where=text)
    if text == "digits":
        data = _digits()
    elif text in KNOWN:
        data = _known(text)
    elif text.endswith(".npz"):
        path = Path(text).expanduser()
        data = _from_file(path, name=path.stem, known=None)
    else:
        raise one_of(text, (*NAMES, PLACES), option="data")
    return vary(data, variant) if variant else data


def _digits() -> Data:
    """scikit-learn's digits, which every installation has: grey values 0 to 16 as x/16, split by counter 0."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images = (bunch.images / 16).astype(np.float32)
    whole = ArraySamples(images, bunch.target, "digits", 10)
    first, second = split_indices(whole.count, held_out=_DIGITS_TEST, counter=0)
    train, test = whole.take(first, name="digits train"), whole.take(second, name="digits test")
    return Data("digits", 10, train, test, source="scikit-learn load_digits")


def _known(name: str) -> Data:
    known = KNOWN[name]
    places = [folder / f"{name}.npz" for folder in data_folders()]
    for path in places:
        if path.is_file():
            return _from_file(path, name=name, known=known)
    target = cache_folder() / f"{name}.npz"
    try:
        _log.info("downloading %s to %s", name, target)
        openml.download(known, target=target)
    except PactError as error:
        channels, height, width = known.input_shape
        shape = f"(n, {height}, {width}{', 3' if channels == 3 else ''})"
        raise PactError(
            f"not found: {', '.join(str(path) for path in places)}; and {error}",
            where=name,
            hint=f"get it from {known.home} and save x_train, y_train, x_test, y_test (uint8 images {shape}) "
            f"as {name}.npz in the folder that NETPACT_DATA names, or in {cache_folder()}",
        ) from error
    return _from_file(target, name=name, known=known)


def _from_file(path: Path, *, name: str, known: KnownSet | None) -> Data:
    arrays = read_npz(path)
    where = {part: f"{path}, y_{part}" for part in ("train", "test")}
    labels = {
        part: check_labels(arrays[f"y_{part}"], count=len(np.atleast_1d(arrays[f"x_{part}"])), where=where[part])
        for part in where
        if f"y_{part}" in arrays
    }
    if not all(len(part) for part in labels.values()):
        raise PactError("no samples", where=str(path))
    y = labels["train"]
    # The classes of both parts: a file has no other place to say how many there are.
    seen = count_classes(lowest=int(y.min()), highest=int(y.max()), where=where["train"])
    classes = known.classes if known else max(seen, *(int(part.max()) + 1 for part in labels.values()))
    parts = {part: ArraySamples(arrays[f"x_{part}"], labels[part], f"{name} {part}", classes) for part in labels}
    data = Data(name, classes, parts["train"], parts.get("test"), source=str(path))
    if known and data.input_shape != known.input_shape:
        raise PactError(f"images of shape {data.input_shape}, {name} has {known.input_shape}", where=str(path))
    return data


def _shorten(data: Data, limit: int) -> Data:
    check_integer(limit, where="limit", least=1, most=data.train.count)
    name = f"{data.name}[:{limit}]"
    train = cast(ArraySamples, data.train)  # load_data makes no other kind
    first = train.take(slice(limit), name=f"{name} train").derived_from(train)
    return replace(data, name=name, train=first)
