"""A compressed network before it is sealed: every tensor in coded form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from netpact.errors import PactError, one_of
from netpact.forms import CodedTensor
from netpact.models import Architecture, OwnModule

ARITHMETICS = ("float32", "float64")  # coded as one decision; append-only


@dataclass(frozen=True, eq=False)
class Compressed:
    """What a method produces and `seal` writes: an architecture and the coded tensors in the network's own order.

    arithmetic  the precision the network is run in, and that the certificate speaks about
    method      how it was made; for people, not part of the message
    """

    architecture: Architecture | OwnModule
    tensors: Mapping[str, CodedTensor]
    arithmetic: str = "float32"
    method: str = ""

    def __post_init__(self) -> None:
        if self.arithmetic not in ARITHMETICS:
            raise one_of(self.arithmetic, ARITHMETICS, option="arithmetic")
        if not self.tensors:
            raise PactError("a network without tensors cannot be compressed")
        object.__setattr__(self, "tensors", MappingProxyType(dict(self.tensors)))
