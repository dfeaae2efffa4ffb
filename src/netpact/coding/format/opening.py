"""What certify and verify take for a pact: the record itself, or an obvious substitute."""

from __future__ import annotations

from pathlib import Path

from netpact.coding.format.compressed import Compressed
from netpact.coding.format.pact import Pact, seal
from netpact.core.errors import PactError


def as_pact(source: Pact | Compressed | str | Path | object) -> Pact:
    """A pact from a Pact, the path of a .pact file, or a compressed network, which is sealed."""
    if isinstance(source, Pact):
        return source
    if isinstance(source, Compressed):
        return seal(source)
    if isinstance(source, (str, Path)):
        return Pact.read(Path(source).expanduser())
    raise PactError(
        f"must be a Pact, a path to a .pact file or a compressed network, got {type(source).__name__}",
        where="pact",
        hint="seal(compress(trace(module, data), method)) makes a Pact of a trained module; the data come second",
    )
