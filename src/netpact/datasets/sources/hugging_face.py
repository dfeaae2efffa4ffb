"""Data sets of Hugging Face: objects of their library, or folders that save_to_disk has written. Never from the hub."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError, one_of
from netpact.core.progress import Progress
from netpact.datasets.arrays import check_inputs, to_array, to_inputs
from netpact.datasets.reading import Reading
from netpact.datasets.samples import ArraySamples, Data
from netpact.datasets.sources.images import check_image, decode_image, is_grey, need_pillow
from netpact.datasets.sources.spool import Spool
from netpact.datasets.sources.tables import LABELS, Classes

_TRAIN, _TEST = "train", ("test", "validation", "valid", "val")
_MARKS = ("dataset_dict.json", "dataset_info.json", "state.json")
_AT_ONCE = 256
_LISTS = ("Sequence", "List", "LargeList", "Array2D", "Array3D", "Array4D", "Array5D", "list")
_CHOOSE = "choose the inputs: columns=A,B"


def is_hugging_face(source: object) -> bool:
    """A Dataset, by its columns and features; or a dict of them."""
    if isinstance(source, Mapping):
        return bool(source) and all(is_hugging_face(part) for part in source.values())
    return all(hasattr(source, name) for name in ("column_names", "features", "num_rows", "__getitem__"))


def is_saved(folder: Path) -> bool:
    return (folder / _MARKS[0]).is_file() or all((folder / mark).is_file() for mark in _MARKS[1:])


def read_saved(folder: Path, reading: Reading, *, progress: Progress | None = None) -> Data:
    try:
        # Any folder named datasets would be found as well, without the function.
        load_from_disk = importlib.import_module("datasets").load_from_disk
    except (ImportError, AttributeError) as error:
        raise PactError(
            "a data set of Hugging Face, whose library is not installed",
            where=str(folder),
            hint="pip install datasets",
        ) from error
    try:
        found = load_from_disk(str(folder))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PactError(f"cannot be read: {error}", where=str(folder)) from error
    name = folder.resolve().name
    return read_hugging_face(found, reading, name=name, source_name=str(folder), progress=progress)


def read_hugging_face(
    source: Any, reading: Reading, *, name: str, source_name: str = "memory", progress: Progress | None = None
) -> Data:
    """Samples in the order of the rows; of several parts, train and the first of test, validation that there is."""
    parts = {_TRAIN: source}
    if isinstance(source, Mapping):
        if _TRAIN not in source:
            raise one_of(_TRAIN, source, option=f"{name}, parts")
        tests = [part for part in _TEST if part in source]
        parts = {_TRAIN: source[_TRAIN], **({"test": source[tests[0]]} if tests else {})}
    tables = {part: _Rows(rows, reading, f"{name} {part}") for part, rows in parts.items()}
    grey = reading.colours == "grey" or (not reading.colours and all(one.all_grey() for one in tables.values()))
    read: dict[str, tuple[NDArray[Any], NDArray[np.int64]]] = {}
    names: tuple[str, ...] | None = None
    for part, table in tables.items():
        x, labels, names = table.read(names, grey=grey, progress=progress)
        read[part] = (x, labels)
    classes = len(names or ()) or 1 + max(int(labels.max()) for _, labels in read.values())
    samples = {part: ArraySamples(*arrays, f"{name} {part}", classes) for part, arrays in read.items()}
    return Data(name, classes, samples[_TRAIN], samples.get("test"), source=source_name, class_names=names or ())


@dataclass(frozen=True, eq=False)
class _Rows:
    """One part: which of its columns is what."""

    rows: Any
    reading: Reading
    where: str

    @property
    def label(self) -> str:
        names, wanted = list(self.rows.column_names), self.reading.label
        if wanted:
            if wanted not in names:
                raise one_of(wanted, names, option=f"{self.where}, label")
            return wanted
        known = [name for name in LABELS if name in names]
        known += [name for name in names if self._kind(name) == "ClassLabel"]
        if not known:
            raise PactError(
                f"no column is named label; there are {', '.join(names)}", where=self.where, hint="name it: label=NAME"
            )
        return str(known[0])

    @property
    def inputs(self) -> tuple[str, ...]:
        """What was asked for; else the one column of images; else those of lists; else those of numbers."""
        names = [name for name in self.rows.column_names if name != self.label]
        for name in self.reading.columns:
            if name not in names:
                raise one_of(name, names, option=f"{self.where}, columns")
        images = [name for name in names if self._kind(name) == "Image"]
        lists = [name for name in names if self._kind(name) in _LISTS]
        chosen = self.reading.columns or tuple(images or lists or names)
        if len(chosen) > 1 and any(name in images for name in chosen):
            raise PactError(f"several columns, one of images: {', '.join(chosen)}", where=self.where, hint=_CHOOSE)
        return chosen

    def _kind(self, column: str) -> str:
        return type(self.rows.features[column]).__name__

    @property
    def has_images(self) -> bool:
        return any(self._kind(name) == "Image" for name in self.inputs)

    def all_grey(self) -> bool:
        """Whether every image is grey: only asked where images are read."""
        if not self.has_images:
            return False
        need_pillow(self.where)
        return all(
            is_grey(self._image(one, first + place))
            for first, found in self._batches()
            for place, one in enumerate(found[self.inputs[0]])
        )

    def _batches(self) -> Iterator[tuple[int, Mapping[str, Sequence[Any]]]]:
        for first in range(0, int(self.rows.num_rows), _AT_ONCE):
            yield first, self.rows[first : first + _AT_ONCE]

    def _image(self, value: Any, row: int) -> Any:
        where = f"{self.where}, row {row}"
        if not hasattr(value, "convert"):
            raise PactError(
                f"an image that is not decoded: {type(value).__name__}",
                where=where,
                hint="use the format of images: dataset.with_format(None), cast_column(name, Image(decode=True))",
            )
        check_image(value, where=where)
        return value

    def read(
        self, names: tuple[str, ...] | None, *, grey: bool, progress: Progress | None
    ) -> tuple[NDArray[Any], NDArray[np.int64], tuple[str, ...]]:
        """Inputs, labels and names of the classes; names: those of the training part."""
        if not self.has_images:
            self.reading.refuse("size", "colours", where=self.where)
        count = int(self.rows.num_rows)
        if not count:
            raise PactError("no samples", where=self.where)
        inputs, classes, label = Spool(self.where), Classes(self.where), self.label
        known = getattr(self.rows.features[label], "names", None)
        for first, found in self._batches():
            inputs.append(self._convert(found, first, grey=grey))
            column = to_array(found[label], where=f"{self.where}, column {label!r}")
            if column.ndim != 1 or column.dtype.kind not in "iufbU":
                raise PactError(f"labels of type {column.dtype}", where=f"{self.where}, column {label!r}")
            classes.append([str(value) for value in column.tolist()])
            if progress is not None:
                progress(min(first + _AT_ONCE, count), count)
        labels, found_names = classes.finish(() if known else names)
        return inputs.finish(), labels, tuple(known) if known else found_names

    def _convert(self, found: Mapping[str, Sequence[Any]], first: int, *, grey: bool) -> NDArray[Any]:
        chosen = self.inputs
        if self.has_images:
            images = [self._image(one, first + place) for place, one in enumerate(found[chosen[0]])]
            decoded = [decode_image(one, size=self.reading.size, grey=grey) for one in images]
            odd = next((place for place, one in enumerate(decoded) if one.shape != decoded[0].shape), None)
            if odd is not None:
                raise PactError(
                    f"{images[odd].size[0]} x {images[odd].size[1]} pixels, others have {images[0].size[0]} x "
                    f"{images[0].size[1]}",
                    where=f"{self.where}, row {first + odd}",
                    hint="give one size for all: size=32",
                )
            return np.stack(decoded)
        where = f"{self.where}, rows from {first}"
        columns = {name: to_array(found[name], where=f"{where}, column {name!r}") for name in chosen}
        wrong = next((name for name, one in columns.items() if one.dtype.kind not in "iufb"), None)
        if wrong is not None:
            raise PactError(
                f"column {wrong!r} holds no numbers",
                where=where,
                hint=f"{_CHOOSE}; tokens of a text need one length: pad them",
            )
        if all(one.ndim == 1 for one in columns.values()):  # a table of numbers
            wide = np.stack([one.astype(np.float64) for one in columns.values()], axis=1)
            return check_inputs(wide, where=self.where, first=first)
        given = columns if len(columns) > 1 else next(iter(columns.values()))
        return check_inputs(to_inputs(given, where=self.where), where=self.where, first=first)
