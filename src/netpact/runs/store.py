"""Finished results on disk, one JSON file each. What cannot be read as a result is computed again."""

from __future__ import annotations

import hashlib
import re
import tempfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final, Literal, Protocol

from netpact.core.checks import check_number
from netpact.core.errors import PactError
from netpact.core.files import read_bytes, write_atomically
from netpact.core.json import JsonValue, check_fields, encode_json, read_object
from netpact.runs.task import Task


class Missing(Enum):
    """A type of its own, because None is a result like any other."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


@dataclass(frozen=True)
class StoredResult:
    result: JsonValue
    seconds: float


class Store(Protocol):
    """What an engine asks for results, and gives them to."""

    def find(self, task: Task) -> StoredResult | None: ...

    def put(self, task: Task, result: JsonValue, *, seconds: float) -> object: ...


class NoStore:
    """Keeps nothing: for work that nobody resumes."""

    def find(self, task: Task) -> StoredResult | None:
        return None

    def put(self, task: Task, result: JsonValue, *, seconds: float) -> None:
        pass


class ResultStore:
    """A folder of results. Several runs may share it: files appear whole, and a file is only used by its own task."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        # Find out now, not after the first hour of work, whether results can be kept.
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise PactError(
                f"cannot keep results here: {error.strerror or error}",
                where=str(folder),
                hint="choose a folder that exists or can be made, and that you may write to",
            ) from error

    def path(self, task: Task) -> Path:
        """A readable part and a hash of key and digest: keys that differ only in case or in / never share a file."""
        readable = re.sub(r"[^A-Za-z0-9._-]+", "_", task.key)[:80]
        name = hashlib.sha256(f"{task.key}\n{task.digest}".encode()).hexdigest()[:16]
        return self.folder / f"{readable}-{name}.json"

    def find(self, task: Task) -> StoredResult | None:
        """The stored result of this very task, or None. A torn, foreign or unreadable file counts as none."""
        path = self.path(task)
        if not path.is_file():
            return None
        try:
            record = read_object(read_bytes(path), where=str(path))
            check_fields(record, {*_identity(task), "result", "seconds"}, where=str(path))
            seconds = check_number(record["seconds"], where="seconds")
        except PactError:
            return None
        if any(record[name] != value for name, value in _identity(task).items()):
            return None
        return StoredResult(record["result"], float(seconds))

    def get(self, task: Task) -> JsonValue | Literal[Missing.MISSING]:
        found = self.find(task)
        return MISSING if found is None else found.result

    def put(self, task: Task, result: JsonValue, *, seconds: float) -> Path:
        record = {**_identity(task), "result": result, "seconds": seconds}
        return write_atomically(self.path(task), encode_json(record, where=f"task {task.key}").encode() + b"\n")

    def discard(self, task: Task) -> None:
        """Forget a result, for example because a file it speaks of is gone."""
        self.path(task).unlink(missing_ok=True)


def _identity(task: Task) -> dict[str, str]:
    return {"key": task.key, "digest": task.digest, "version": task.version}
