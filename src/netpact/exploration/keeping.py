"""best.pact and what was there before: a better file is never replaced, and no other one is lost."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netpact.coding.format import Pact
from netpact.core.errors import PactError
from netpact.core.files import read_bytes
from netpact.core.percent import percent_up
from netpact.pacts.verification import verify

if TYPE_CHECKING:
    from netpact.datasets import Data

BEST = "best.pact"


@dataclass(frozen=True)
class Earlier:
    """What is in the place of best.pact.

    bound    certified for the same data and delta, and verified here; None where the two cannot be compared
    reason   why not
    message  of the network; empty where the file cannot be read
    plain    it holds one certificate and nothing else
    """

    bound: float | None
    reason: str = ""
    message: bytes = b""
    plain: bool = True


def look_at_earlier(folder: Path, data: Data, *, delta: float) -> Earlier | None:
    """None where there is no such file. Looked at before a search starts, as verifying takes time."""
    path = folder / BEST
    if not os.path.lexists(path):
        return None
    try:
        pact = Pact.read(path)
    except PactError as error:
        return Earlier(None, f"cannot be read: {error.what}")
    stated = pact.certificate
    if stated is None:
        return Earlier(None, "has no certificate", pact.message)
    if stated.data_fingerprint != data.train.fingerprint():
        return Earlier(None, f"is about other data ({stated.data_name})", pact.message)
    if stated.delta != delta:
        return Earlier(None, f"has another delta ({stated.delta:g})", pact.message)
    try:
        agreed = verify(pact, data).agreed
    except PactError:
        agreed = False
    if not agreed:
        return Earlier(None, "does not verify", pact.message)
    return Earlier(stated.bound, "", pact.message, len(pact.statements) == 1)


def place_best(folder: Path, pact: Pact, earlier: Earlier | None) -> tuple[Path, str]:
    """Write what a search found. Where it is now, and what became of the file that was there; "" if there was none."""
    best, stated = folder / BEST, pact.certificate
    assert stated is not None
    if earlier is None:
        return pact.write(best), ""
    if earlier.bound is not None and earlier.message == pact.message:
        return best, ""
    told = "" if earlier.bound is None else percent_up(earlier.bound, places=2)
    if earlier.bound is not None and earlier.bound <= stated.bound:
        own = pact.write(folder / f"found-{pact.message_sha256[:12]}.pact")
        return own, f"{best} stays: its bound is {told}; this search's file is {own}"
    if earlier.bound is not None and earlier.plain:
        return pact.write(best), f"{best} of an earlier search, with a bound of {told}, is replaced"
    aside = folder / f"earlier-{hashlib.sha256(read_bytes(best)).hexdigest()[:12]}.pact"
    os.replace(best, aside)
    reason = earlier.reason or "holds further statements too"
    return pact.write(best), f"what was {best} {reason}; it is now {aside}"
