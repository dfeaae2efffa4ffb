"""Files that a module reads while it is made or run: what they hold is in no message.

Python reports such events to audit hooks. One hook is set, once, and looks only while a module of the user is made or
run in the same thread. Libraries that open files without Python are not seen.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from types import FrameType

from torch import nn

from netpact.core.errors import PactError
from netpact.core.installed import is_installed

_SOURCES = (".py", ".pyc", ".pyi", ".so", ".pyd", ".dll", ".dylib")
_OTHERS = {
    "socket.connect": "a network connection",
    "subprocess.Popen": "another program",
    "os.system": "another program",
    "os.posix_spawn": "another program",
    "os.exec": "another program",
    "sqlite3.connect": "a data base",
    "urllib.Request": "a network address",
    "_thread.start_new_thread": "another thread",
}
_IMPORTERS = ("<frozen importlib", "<frozen zipimport")
_IMPORTING = ("exec_module", "create_module", "_find_and_load")


class _Looking(threading.local):
    """seen  what was read since this thread began to look; None while it does not"""

    seen: list[str] | None = None


_looking = _Looking()


@contextmanager
def no_files(where: str) -> Iterator[None]:
    """Refuse files read inside, and whatever else brings numbers from elsewhere."""
    _set_hook()
    before, _looking.seen = _looking.seen, []
    try:
        yield
    finally:
        seen, _looking.seen = _looking.seen, before
    if seen:
        raise PactError(
            f"reads {', '.join(dict.fromkeys(seen))}: what is in there would not be counted",
            where=where,
            hint="make the module without its weights, they come from the message; register other numbers with "
            "register_buffer",
        )


def watch_forward(module: nn.Module) -> nn.Module:
    """Refuse files that are read in any later run of this module, or of a copy. Changes the module given."""
    module.forward = partial(_run_watched, type(module).__name__, module.forward)
    return module


def _run_watched(where: str, forward: Callable[..., object], *inputs: object, **named: object) -> object:
    with no_files(where):
        return forward(*inputs, **named)


@cache
def _set_hook() -> None:
    sys.addaudithook(_note)


def _note(event: str, arguments: tuple[object, ...]) -> None:
    seen = _looking.seen
    if seen is None:
        return
    if event in _OTHERS:
        seen.append(_OTHERS[event])
    elif event == "open" and _is_read(*arguments) and not _is_import(arguments[0]):
        seen.append(os.fsdecode(arguments[0]) if isinstance(arguments[0], (str, bytes)) else "an open file")


def _is_read(path: object, mode: object, flags: object) -> bool:
    if isinstance(path, (str, bytes)) and os.fsdecode(path) == os.devnull:
        return False
    if isinstance(mode, str):
        return "r" in mode or "+" in mode
    return not (isinstance(flags, int) and flags & os.O_WRONLY)


def _is_import(path: object) -> bool:
    """Whether Python imports code, or a library reads something while it is imported, or a warning quotes a line."""
    is_source = isinstance(path, (str, bytes)) and os.fsdecode(path).endswith(_SOURCES)
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_IMPORTERS):
            if code.co_name in _IMPORTING:
                return True
        elif is_source and code.co_filename.endswith(("linecache.py", "tokenize.py")):
            return True
        elif not is_source and not is_installed(code.co_filename):
            return False  # the user's own code reads it
        frame = frame.f_back
    return False
