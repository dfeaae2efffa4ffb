"""Files appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from netpact.core.errors import PactError, did_you_mean, wrong_kind


def write_atomically(path: str | Path, content: bytes) -> Path:
    """Write beside the target and rename over it, so that a kill or a full disk never leaves half a file."""
    target = _file_name(path)
    # The name is known before the file is there: an interrupt at any moment finds it in the clean-up below.
    temporary = _beside(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "xb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise _cannot_write(target, error) from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    return target


def check_place(path: str | Path) -> Path:
    """Refuse a place that write_atomically would refuse, before the work whose result goes there; leaves no trace.

    Tried out by an empty file in the folder, or in the first one above it that exists: permissions alone do not say.
    """
    target = _file_name(path)
    temporary = _beside(target)
    try:
        while not _is_there(temporary.parent):
            temporary = temporary.parent.with_name(temporary.name)
        open(temporary, "xb").close()
    except OSError as error:
        raise _cannot_write(target, error) from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    return target


def as_path(path: str | Path | object, *, where: str = "path") -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise wrong_kind(path, needed="a path", where=where)
    return Path(path)


def _file_name(path: str | Path) -> Path:
    target = as_path(path)
    if os.path.isdir(target):  # False, where Path.is_dir raises, for names that no file can have
        raise PactError("must be a file, not a folder", where=str(target))
    return target


def _is_there(path: Path) -> bool:
    """A name that no file can have is an error here: nothing can be made under it."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")


def _cannot_write(target: Path, error: OSError) -> PactError:
    return PactError(
        f"cannot write the file: {error.strerror or error}",
        where=str(target),
        hint="choose a folder that exists or can be made, and that you may write to",
    )


def read_bytes(path: str | Path) -> bytes:
    try:
        return as_path(path).read_bytes()
    except OSError as error:
        problem = f"cannot read the file: {error.strerror or error}"
        raise PactError(
            problem, where=str(path), hint=_like_it(Path(path)) if not os.path.lexists(path) else ""
        ) from error


def _like_it(path: Path) -> str:
    """What a reader who misspelled a name may have meant, of the files in the same folder."""
    try:
        names = os.listdir(path.parent)
    except OSError:
        return f"there is no folder {path.parent}"
    return did_you_mean(path.name, names) or "check the path: it begins in the folder that the command was started in"
