"""Where in a message an error was met: known to the one who walks over the tensors, not to the codes below."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from netpact.core.errors import PactError

MESSAGE = "message"


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Add the place to an error that does not name it yet. `place` begins with "message"."""
    try:
        yield
    except PactError as error:
        if error.where.startswith(MESSAGE):
            raise
        where = f"{place}, {error.where}" if error.where else place
        raise PactError(error.what, where=where, hint=error.hint) from error
