"""Where a command writes: checked before the work starts, so that no work and no file is lost.

One rule for all commands: a file that exists is replaced only with --overwrite. Replaced without it: a .pact file
without a certificate, and a page that netpact wrote.
"""

from __future__ import annotations

import os
from pathlib import Path

from netpact.core.errors import PactError
from netpact.core.files import check_place, read_bytes

_PAGE_HEAD = b'<meta name="generator" content="netpact'
_HEAD_BYTES = 4096


def weights_place(path: Path, *, overwrite: bool) -> Path:
    from netpact.models import check_weights_path

    check_weights_path(path)
    return _new_file(path, overwrite=overwrite)


def pact_place(path: Path, *, overwrite: bool) -> Path:
    from netpact.coding.format import Pact

    if overwrite or not os.path.isfile(path):
        return check_place(path)
    try:
        certified = Pact.read(path).certificate is not None
    except PactError:
        return _new_file(path, overwrite=False)  # not a file of ours
    return _new_file(path, overwrite=False, what="a certified file") if certified else check_place(path)


def page_place(path: Path | None, *, overwrite: bool) -> Path | None:
    if path is None:
        return None
    ours = os.path.isfile(path) and _PAGE_HEAD in read_bytes(path)[:_HEAD_BYTES]
    return _new_file(path, overwrite=overwrite or ours)


def _new_file(path: Path, *, overwrite: bool, what: str = "the file") -> Path:
    check_place(path)
    if os.path.lexists(path) and not overwrite:
        raise PactError(f"{what} exists", where=str(path), hint="choose another name, or give --overwrite")
    return path
