"""Arrays in files, mapped into memory: the system reads the pages that are used, and drops them again."""

from __future__ import annotations

import math
import mmap
import struct
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from netpact.core.errors import PactError

_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_CHUNK = 1 << 22


def is_mapped(x: NDArray[Any]) -> bool:
    """Whether the numbers are in a file: copies of such an array may not fit into memory."""
    base: object = x
    while base is not None:
        if isinstance(base, (np.memmap, mmap.mmap)):
            return True
        base = getattr(base, "base", None)
    return False


def read_header(stream: IO[bytes], *, where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, type; the stream then stands at the first number."""
    version = npy.read_magic(stream)
    if version == (1, 0):
        shape, columns_first, dtype = npy.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, columns_first, dtype = npy.read_array_header_2_0(stream)
    else:
        raise PactError(f"array format {version} is not known; allowed: (1, 0), (2, 0)", where=where)
    if dtype.hasobject or dtype.itemsize == 0:
        raise PactError(f"an array of type {dtype}; only plain numbers are read", where=where)
    return shape, columns_first, dtype


def map_npy(path: Path) -> NDArray[Any]:
    """The array of an .npy file; nothing is unpickled."""
    try:
        with path.open("rb") as file:
            return _map(file, path, end=path.stat().st_size, where=str(path))
    except FileNotFoundError as error:
        raise PactError("there is no such file", where=str(path)) from error
    except (OSError, ValueError, EOFError, SyntaxError, TypeError, MemoryError) as error:
        raise PactError(
            f"this cannot be read as an .npy file of plain numbers: {error}",
            where=str(path),
            hint="write it with np.save(path, array)",
        ) from error


def map_member(file: IO[bytes], path: Path, member: zipfile.ZipInfo, *, where: str) -> NDArray[Any]:
    """An array that stands uncompressed in an .npz file; its checksum is checked, piece by piece."""
    file.seek(member.header_offset)
    header = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    start = member.header_offset + _LOCAL_HEADER.size + header[9] + header[10]
    file.seek(start)
    left, found = member.file_size, 0
    while left:
        piece = file.read(min(_CHUNK, left))
        if not piece:
            raise PactError("the file ends within this array", where=where)
        found, left = zlib.crc32(piece, found), left - len(piece)
    if found != member.CRC:
        raise PactError("the checksum is wrong: the file is damaged", where=where)
    file.seek(start)
    return _map(file, path, end=start + member.file_size, where=where)


def _map(file: IO[bytes], path: Path, *, end: int, where: str) -> NDArray[Any]:
    shape, columns_first, dtype = read_header(file, where=where)
    here, count = file.tell(), math.prod(shape)
    if end - here != count * dtype.itemsize:
        raise PactError(f"the array declares {count * dtype.itemsize} bytes, the file holds {end - here}", where=where)
    if not count:
        return np.empty(shape, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=here, shape=shape, order="F" if columns_first else "C")
