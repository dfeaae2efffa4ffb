"""What certify and verify take for a pact or a base network: the record itself, or what obviously stands for it."""

from __future__ import annotations

from pathlib import Path

from netpact.coding.format.base import Base, open_base
from netpact.coding.format.compressed import Compressed
from netpact.coding.format.message import DEFAULT_MAX_PARAMETERS
from netpact.coding.format.pact import Pact, seal
from netpact.core.errors import PactError
from netpact.core.limits import Limits


def as_pact(source: Pact | Compressed | str | Path | object) -> Pact:
    """A pact from a Pact, the path of a .pact file, or a compressed network, which is sealed."""
    if isinstance(source, Pact):
        return source
    if isinstance(source, Compressed):
        return seal(source)
    if isinstance(source, (str, Path)):
        return Pact.read(Path(source).expanduser())
    raise PactError(
        f"a Pact, a path to a .pact file or a compressed network is needed, got {type(source).__name__}",
        where="pact",
        hint="seal(compress(trace(module, data), method)) makes a Pact of a trained module; the data come second",
    )


def as_base(
    source: Base | str | Path | object, *, max_parameters: Limits | int = DEFAULT_MAX_PARAMETERS
) -> Base | None:
    """A base network from a Base or the path of its file; None stays None."""
    if source is None or isinstance(source, Base):
        return source
    if isinstance(source, (str, Path)):
        return open_base(source, max_parameters=max_parameters)
    raise PactError(
        f"a Base or the path of its file is needed, got {type(source).__name__}",
        where="base",
        hint="open_base(path) opens one, base_of(module, name=...) makes one of a trained module",
    )
