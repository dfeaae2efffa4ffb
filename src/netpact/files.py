"""Files appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from netpact.errors import PactError


def write_atomically(path: str | Path, content: bytes) -> Path:
    """Write beside the target and rename over it, so that a kill or a full disk never leaves half a file."""
    target = Path(path)
    if target.is_dir():
        raise PactError("this is a folder, a file name is needed", where=str(target))
    # The name is known before the file is there: an interrupt at any moment finds it in the clean-up below.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "xb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise PactError(
            f"cannot write the file: {error.strerror or error}",
            where=str(target),
            hint="choose a folder that exists or can be made, and that you may write to",
        ) from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    return target


def read_bytes(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise PactError(f"cannot read the file: {error.strerror or error}", where=str(path)) from error
