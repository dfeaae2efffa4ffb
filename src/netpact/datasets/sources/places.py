"""Data by the place where they are: which of the readers a path is for."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets.reading import Reading
from netpact.datasets.samples import ArraySamples, Data
from netpact.datasets.sources import csv_files, folders, hugging_face
from netpact.datasets.sources.mapped import map_npy
from netpact.datasets.sources.tables import Table

PLACES = (
    "a path that ends in .npz, .csv or .tsv, a folder of images (FOLDER/train/CLASS/*.png), a folder with x_train.npy "
    "and y_train.npy, a folder with train.csv, a folder that datasets.save_to_disk has written"
)
_ARRAYS = ("x_train.npy", "y_train.npy", "x_test.npy", "y_test.npy")
_ALONE = ("x.npy", "y.npy")


def is_place(text: str) -> bool:
    """Whether a text is a path for read_place, and not a name or an .npz file."""
    return bool(text) and (Path(text).suffix.lower() in csv_files.ENDINGS or os.path.isdir(os.path.expanduser(text)))


def read_place(path: Path, reading: Reading, *, progress: Progress | None = None) -> Data:
    if path.suffix.lower() in csv_files.ENDINGS and not path.is_dir():
        return _read_tables({"train": path}, path.stem, reading, progress=progress)
    if hugging_face.is_saved(path):
        return hugging_face.read_saved(path, reading, progress=progress)
    if any((path / name).is_file() for name in (*_ARRAYS, *_ALONE)):
        return _read_arrays(path, reading)
    for ending in csv_files.ENDINGS:
        if (path / f"train{ending}").is_file():
            parts = {part: path / f"{part}{ending}" for part in ("train", "test")}
            found = {part: file for part, file in parts.items() if file.is_file()}
            return _read_tables(found, path.resolve().name, reading, progress=progress)
    return folders.read_image_folder(path, reading, progress=progress)


def tables_to_data(tables: dict[str, Table], name: str, source: str, classes: int | None = None) -> Data:
    """Integers are class numbers: the highest of them, in any part, says how many classes there are."""
    names = tables["train"].class_names
    found = len(names) or 1 + max(int(table.labels.max()) for table in tables.values())
    count = classes or found
    samples = {
        part: ArraySamples(table.inputs, table.labels, f"{name} {part}", count) for part, table in tables.items()
    }
    named = names if count == len(names) else ()
    return Data(name, count, samples["train"], samples.get("test"), source=source, class_names=named)


def _read_tables(files: dict[str, Path], name: str, reading: Reading, *, progress: Progress | None) -> Data:
    train = csv_files.read_table(files["train"], reading, progress=progress)
    tables = {"train": train}
    if "test" in files:
        tables["test"] = csv_files.read_table(files["test"], reading, like=train, progress=progress)
    return tables_to_data(tables, name, str(files["train"] if len(files) == 1 else files["train"].parent))


def _read_arrays(folder: Path, reading: Reading) -> Data:
    """x_train.npy, y_train.npy and maybe x_test.npy, y_test.npy; or x.npy and y.npy. The inputs stay in their files."""
    reading.refuse("size", "colours", "label", "columns", where=str(folder))
    alone = [name for name in _ALONE if (folder / name).is_file()]
    present = [name for name in _ARRAYS if (folder / name).is_file()]
    if alone and present:
        raise PactError(f"{alone[0]} and {present[0]}: either of them", where=str(folder))
    pairs = {"train": _ALONE} if alone else {"train": _ARRAYS[:2], "test": _ARRAYS[2:]}
    arrays = {}
    for part, (x, y) in pairs.items():
        if part == "train" or x in present or y in present:
            arrays[part] = (map_npy(folder / x), np.array(map_npy(folder / y)))
    name = folder.resolve().name
    labels = [y for _, y in arrays.values()]
    if any(y.ndim != 1 or not y.size or y.dtype.kind not in "iu" for y in labels):
        classes = 2  # refused below, in the words of ArraySamples
    else:
        classes = max(2, 1 + max(int(y.max()) for y in labels))
    samples = {part: ArraySamples(x, y, f"{name} {part}", classes) for part, (x, y) in arrays.items()}
    return Data(name, classes, samples["train"], samples.get("test"), source=str(folder))
