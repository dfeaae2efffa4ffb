"""Reading .npz files as untrusted input: no pickles, and no memory taken before the declared sizes were checked."""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from netpact.core.errors import PactError
from netpact.datasets.layout import join_arrays
from netpact.datasets.sources.mapped import map_member, read_header

TRAIN_KEYS = ("x_train", "y_train")
TEST_KEYS = ("x_test", "y_test")
MAX_BYTES = 16 * 2**30  # in memory; what is stored uncompressed is not read into it
FREE_BYTES = 64 * 2**20  # small enough to unpack whatever the ratio
MAX_RATIO = 100  # unpacked to packed; images stay below 10, a zip bomb is near 1000

# What the zip and array readers raise on damaged files.
_DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    MemoryError,
    KeyError,
    TypeError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays x_train, y_train and, if the file has them, x_test, y_test. Other arrays are not read.

    Several inputs are x_train.NAME for each of them, NAME the argument of the network, and x_test.NAME.
    """
    found = read_arrays(
        path,
        lambda names: _data_keys(names, path),
        hint="write it with np.savez_compressed(path, x_train=..., y_train=..., x_test=..., y_test=...)",
    )
    for whole in (TRAIN_KEYS[0], TEST_KEYS[0]):
        parts = {key.partition(".")[2]: found.pop(key) for key in list(found) if key.startswith(f"{whole}.")}
        if parts:
            found[whole] = join_arrays(parts, where=f"{path}, {whole}")
    return found


def array_names(path: Path, *, hint: str) -> list[str]:
    """What the arrays in the file are called; one that occurs twice is there twice."""
    with _refuse_damage(path, hint=hint), path.open("rb") as file, zipfile.ZipFile(file) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def read_arrays(path: Path, choose: Callable[[list[str]], tuple[str, ...]], *, hint: str) -> dict[str, NDArray[Any]]:
    """The arrays that `choose` picks from the names in the file, or refuses; hint says how to write such a file.

    Large arrays that are stored uncompressed stay in the file, and are mapped into memory.
    """
    with _refuse_damage(path, hint=hint), path.open("rb") as file:
        with zipfile.ZipFile(file) as archive:
            keys = choose([name.removesuffix(".npy") for name in archive.namelist()])
            members = {key: archive.getinfo(f"{key}.npy") for key in keys}
            large = {key for key, member in members.items() if _stays_in_file(member)}
            _check_sizes(archive, members, large, path)
        found = {key: map_member(file, path, members[key], where=f"{path}, {key}") for key in large}
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            return {key: found[key] if key in found else arrays[key] for key in keys}


def _stays_in_file(member: zipfile.ZipInfo) -> bool:
    encrypted = member.flag_bits & 1
    return member.compress_type == zipfile.ZIP_STORED and member.file_size > FREE_BYTES and not encrypted


@contextmanager
def _refuse_damage(path: Path, *, hint: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise PactError("there is no such file", where=str(path)) from error
    except _DAMAGE as error:
        raise PactError(
            f"this cannot be read as an .npz file of plain arrays: {error}", where=str(path), hint=hint
        ) from error


def _data_keys(names: list[str], path: Path) -> tuple[str, ...]:
    found = set(names)
    if len(found) != len(names):
        raise PactError("an array occurs twice in the file", where=str(path))
    parts = {whole: tuple(name for name in names if name.startswith(f"{whole}.")) for whole in ("x_train", "x_test")}
    for whole, own in parts.items():
        if own and whole in found:
            raise PactError(f"{whole} and {own[0]}: either one array or several", where=str(path))
        found |= {whole} if own else set()
    if not found.issuperset(TRAIN_KEYS):
        present = ", ".join(sorted(found)) or "nothing"
        raise PactError(
            f"must hold {', '.join(TRAIN_KEYS)}, may hold {', '.join(TEST_KEYS)}; holds {present}",
            where=str(path),
        )
    train = (*(parts["x_train"] or ("x_train",)), "y_train")
    if found.isdisjoint(TEST_KEYS):
        return train
    if not found.issuperset(TEST_KEYS):
        raise PactError(f"{' and '.join(TEST_KEYS)} come together or not at all", where=str(path))
    return (*train, *(parts["x_test"] or ("x_test",)), "y_test")


def _check_sizes(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], mapped: set[str], path: Path) -> None:
    packed = unpacked = 0
    for key, member in members.items():
        with archive.open(member) as stream:
            declared = _declared_bytes(stream, where=f"{path}, {key}")
        if declared != member.file_size:
            raise PactError(
                f"the array declares {declared} bytes, the file holds {member.file_size}", where=f"{path}, {key}"
            )
        if key not in mapped:
            packed, unpacked = packed + member.compress_size, unpacked + declared
    if unpacked > MAX_BYTES:
        raise PactError(
            f"{unpacked} bytes unpacked, at most {MAX_BYTES} are read",
            where=str(path),
            hint="write it uncompressed with np.savez, so that it stays in the file; or give a torch DataLoader",
        )
    if unpacked > max(FREE_BYTES, MAX_RATIO * packed):
        raise PactError(
            f"{packed} bytes would unpack to {unpacked}, more than {MAX_RATIO} times as many",
            where=str(path),
            hint="if you trust the file, write it again uncompressed with np.savez",
        )


def _declared_bytes(stream: IO[bytes], *, where: str) -> int:
    """Header and data of an array as its header declares them."""
    shape, _, dtype = read_header(stream, where=where)
    return stream.tell() + math.prod(shape) * dtype.itemsize
