"""Folders of images: FOLDER/train/CLASS/*.png and FOLDER/test/CLASS/*.png, or FOLDER/CLASS/*.png."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets.arrays import MAX_CLASSES
from netpact.datasets.reading import Reading
from netpact.datasets.samples import ArraySamples, Data
from netpact.datasets.sources.images import ENDINGS, decode_image, is_grey, need_pillow, open_image
from netpact.datasets.sources.spool import Spool

TRAIN = "train"
TEST = ("test", "val", "valid", "validation")  # the first of these that there is
_LEFT_ALONE = ("thumbs.db", "desktop.ini")  # and whatever begins with a dot
_AT_ONCE = 256


@dataclass(frozen=True)
class _Look:
    """What the headers of the files say. first, other: two files of different sizes, if there are any."""

    grey: bool
    first: tuple[Path, tuple[int, int]]
    other: tuple[Path, tuple[int, int]] | None


def read_image_folder(folder: Path, reading: Reading, *, progress: Progress | None = None) -> Data:
    """Classes are the names of the folders, sorted; files are sorted by path within a class, as ImageFolder does."""
    reading.refuse("label", "columns", where=str(folder))
    need_pillow(str(folder))
    names, called = _subfolders(folder), folder.resolve().name
    parts = {"train": folder}
    if TRAIN in names:
        tests = [name for name in TEST if name in names]
        parts = {"train": folder / TRAIN, **({"test": folder / tests[0]} if tests else {})}
    classes = _subfolders(parts["train"])
    if len(classes) < 2:
        raise PactError(
            f"{len(classes)} folders of classes, at least 2 are needed",
            where=str(parts["train"]),
            hint="put the images into FOLDER/train/CLASS/ and FOLDER/test/CLASS/, or into FOLDER/CLASS/",
        )
    if len(classes) > MAX_CLASSES:
        raise PactError(f"{len(classes)} classes, at most {MAX_CLASSES}", where=str(parts["train"]))
    files = {part: list(_files(folder, place, classes, part=part)) for part, place in parts.items()}
    look = _look_at([path for found in files.values() for path, _ in found])
    _refuse_sizes(look, reading, folder)
    total, done = sum(map(len, files.values())), 0
    samples = {}
    for part, found in files.items():
        paths = [path for path, _ in found]
        inputs = _decode_all(paths, reading, look, f"{folder}, {part}", progress=_later(progress, done, total))
        done += len(found)
        labels = np.array([label for _, label in found], dtype=np.int64)
        samples[part] = ArraySamples(inputs, labels, f"{called} {part}", len(classes))
    return Data(
        called, len(classes), samples["train"], samples.get("test"), source=str(folder), class_names=tuple(classes)
    )


def has_loose_images(folder: Path) -> bool:
    """Whether images lie in the folder itself, and not in folders of classes."""
    return any(entry.is_file() and entry.suffix.lower() in ENDINGS for entry in folder.iterdir())


def read_loose_images(folder: Path, reading: Reading) -> NDArray[np.uint8]:
    """The images that lie in a folder itself, sorted by name, without classes."""
    reading.refuse("label", "columns", where=str(folder))
    need_pillow(str(folder))
    inner = _subfolders(folder)
    if inner:
        raise PactError(
            f"images beside the folder {inner[0]}",
            where=str(folder),
            hint="give a folder of images alone, or one with a folder for each class",
        )
    files = [path for path in sorted(folder.iterdir()) if _wanted(path, folder)]
    look = _look_at(files)
    _refuse_sizes(look, reading, folder)
    return _decode_all(files, reading, look, str(folder))


def _subfolders(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _files(root: Path, place: Path, classes: list[str], *, part: str) -> Iterator[tuple[Path, int]]:
    _refuse_loose(place)
    for name in _subfolders(place):
        if name not in classes:
            raise PactError(
                f"a class {name!r} that the training part does not have",
                where=str(place / name),
                hint="rename the folder, or take it out",
            )
        found = [path for path in _walk(place / name) if _wanted(path, root)]
        if not found and part == "train":
            raise PactError(
                "a class without images", where=str(place / name), hint=f"take the folder out; allowed: {_allowed()}"
            )
        yield from ((path, classes.index(name)) for path in found)


def _walk(folder: Path) -> Iterator[Path]:
    """Every file below, sorted by path; links to folders are not followed but found to be no images."""
    paths = []
    for here, inner, names in os.walk(folder):
        inner[:] = [name for name in inner if not name.startswith(".")]
        linked = [name for name in inner if Path(here, name).is_symlink()]
        paths += [Path(here, name) for name in (*names, *linked)]
    return iter(sorted(paths))


def _wanted(path: Path, root: Path) -> bool:
    """Hidden files are left out; anything else that is no image, or is not in the folder, is refused."""
    if path.name.startswith(".") or path.name.lower() in _LEFT_ALONE:
        return False
    if path.suffix.lower() not in ENDINGS:
        raise PactError(f"not an image by its name; allowed: {_allowed()}", where=str(path), hint="move it away")
    if not path.resolve().is_relative_to(root.resolve()):
        raise PactError(
            f"a link to {path.resolve()}, outside of the folder",
            where=str(path),
            hint="copy the file: whoever verifies has the folder only",
        )
    if not path.is_file():
        raise PactError("not a file", where=str(path), hint="move it away")
    return True


def _refuse_loose(place: Path) -> None:
    for entry in sorted(place.iterdir()):
        if entry.is_file() and entry.suffix.lower() in ENDINGS and not entry.name.startswith("."):
            raise PactError(
                "an image outside of the folders of the classes", where=str(entry), hint="put it into FOLDER/CLASS/"
            )


def _allowed() -> str:
    return ", ".join(ENDINGS)


def _look_at(paths: list[Path]) -> _Look:
    """The headers only: sizes and colours are settled before anything is decoded."""
    grey, first, other = True, None, None
    for path in paths:
        with open_image(path) as image:
            grey = grey and is_grey(image)
            first = first or (path, image.size)
            if other is None and image.size != first[1]:
                other = (path, image.size)
    assert first is not None  # no class is empty
    return _Look(grey, first, other)


def _refuse_sizes(look: _Look, reading: Reading, folder: Path) -> None:
    if reading.size is None and look.other is not None:
        (first, size), (other, another) = look.first, look.other
        raise PactError(
            f"{another[0]} x {another[1]} pixels, {first} has {size[0]} x {size[1]}",
            where=str(other),
            hint=f"give one size for all: --data {folder}:size=32",
        )


def _later(progress: Progress | None, done: int, total: int) -> Progress | None:
    """Progress of a part, told as progress of the whole."""
    return None if progress is None else lambda now, _: progress(done + now, total)


def _decode_all(
    paths: list[Path], reading: Reading, look: _Look, where: str, *, progress: Progress | None = None
) -> NDArray[np.uint8]:
    grey = reading.colours == "grey" or (not reading.colours and look.grey)
    inputs = Spool(where)
    for start in range(0, len(paths), _AT_ONCE):
        some = paths[start : start + _AT_ONCE]
        inputs.append(np.stack([_decode(path, reading.size, grey=grey) for path in some]))
        if progress is not None:
            progress(start + len(some), len(paths))
    return inputs.finish()


def _decode(path: Path, size: int | None, *, grey: bool) -> NDArray[np.uint8]:
    with open_image(path) as image:
        return decode_image(image, size=size, grey=grey)
