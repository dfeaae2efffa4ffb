"""Files appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from netpact.errors import PactError


def write_atomically(path: str | Path, content: bytes) -> Path:
    """Write beside the target and rename over it, so that a kill or a full disk never leaves half a file."""
    target = Path(path)
    if target.is_dir():
        raise PactError("this is a folder, a file name is needed", where=str(target))
    temporary = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        raise PactError(
            f"cannot write the file: {error.strerror or error}",
            where=str(target),
            hint="choose a folder that exists or can be made, and that you may write to",
        ) from error
    finally:
        if temporary is not None:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
    return target


def read_bytes(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise PactError(f"cannot read the file: {error.strerror or error}", where=str(path)) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
