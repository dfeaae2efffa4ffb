"""A count of errors in a file: what was counted before an interrupt need not be counted again."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from netpact.core.checks import check_integer
from netpact.core.errors import PactError
from netpact.core.files import read_bytes, write_atomically
from netpact.core.json import check_fields, encode_json, read_object
from netpact.core.version import __version__
from netpact.network import ErrorCount

_SECONDS = 2.0  # between two writes


@dataclass
class KeptCount:
    """Counts of the first samples, in the order in which they are counted, in one file of a folder.

    what  everything that the count depends on, by name: the network and the samples by their hashes, the arithmetic. A
          file of anything else, of another version of netpact, or one that cannot be read counts as none
    """

    folder: Path
    what: Mapping[str, str]
    _written: float = field(default_factory=time.monotonic, init=False)

    def path(self) -> Path:
        name = hashlib.sha256(encode_json(dict(self.what), where="what is counted").encode()).hexdigest()[:16]
        return self.folder / f"errors-{name}.json"

    def read(self, *, batch: int) -> ErrorCount:
        """What was counted before, in batches of this size: the order of the samples depends on nothing else."""
        path = self.path()
        if not path.is_file():
            return ErrorCount(0, 0, 0)
        try:
            found = check_fields(read_object(read_bytes(path), where=str(path)), {"of", "counted"}, where=str(path))
            names = set(asdict(ErrorCount(0, 0, 0)))
            stated = check_fields(found["counted"], names, where=str(path))
            counts = {name: check_integer(stated[name], where=name, least=0) for name in names}
        except PactError:
            return ErrorCount(0, 0, 0)
        return ErrorCount(**counts) if found["of"] == self._identity(batch) else ErrorCount(0, 0, 0)

    def write(self, counted: ErrorCount, *, batch: int, at_once: bool = False) -> None:
        now = time.monotonic()
        if at_once or now - self._written >= _SECONDS:
            record = {"of": self._identity(batch), "counted": asdict(counted)}
            write_atomically(self.path(), encode_json(record, where="counts").encode() + b"\n")
            self._written = now

    def _identity(self, batch: int) -> dict[str, str | int]:
        return {**self.what, "batch": batch, "version": __version__}
