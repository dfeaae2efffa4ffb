"""A compressed network before it is sealed: every tensor in coded form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from netpact.coding.forms import CodedTensor, needs_base
from netpact.core.display import Displayed
from netpact.core.errors import PactError, one_of
from netpact.models import Architecture, OwnModule

if TYPE_CHECKING:
    from netpact.datasets import Split
    from netpact.layers.rewrites import Step

# How a network is run, and the precision of its numbers. Coded by place: append-only.
PRECISIONS = MappingProxyType({"float32": "float32", "float64": "float64", "as-run": "float32", "whole": "float32"})
ARITHMETICS = tuple(PRECISIONS)
WHOLE = "whole"  # the arithmetic of networks with layers that the rewrite of this name has made


@dataclass(frozen=True, eq=False, repr=False)
class Compressed(Displayed):
    """What a method produces and `seal` writes: architecture, rewrites, coded tensors in the network's own order.

    arithmetic  how the network is run, and what the certificate is about: every run in a precision, or one program
    method      how it was made; for display, not part of the message
    split       the part of the sample that the base network has seen; None for other data, or without a base
    rewrites    changes of the architecture's structure, in order; the tensors are those of the rewritten network
    """

    architecture: Architecture | OwnModule
    tensors: Mapping[str, CodedTensor]
    arithmetic: str = "float32"
    method: str = ""
    split: Split | None = None
    rewrites: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        if self.arithmetic not in ARITHMETICS:
            raise one_of(self.arithmetic, ARITHMETICS, option="arithmetic")
        whole = any(step.rewrite.name == WHOLE for step in self.rewrites)
        if whole != (self.arithmetic == WHOLE):
            raise PactError(
                f"the arithmetic is {self.arithmetic}, and {'some' if whole else 'no'} layers are integer layers",
                where="arithmetic",
                hint="the method whole makes integer networks",
            )
        if not self.tensors:
            raise PactError("a network without tensors cannot be compressed")
        if self.split is not None and not is_relative(self):
            raise PactError("only a network encoded against a base has a split", where="split")
        object.__setattr__(self, "tensors", MappingProxyType(dict(self.tensors)))

    def __reduce__(self) -> tuple[object, ...]:
        """A mappingproxy can be neither pickled nor copied: the record is made anew from a plain dict."""
        fields = (self.architecture, dict(self.tensors), self.arithmetic, self.method, self.split, self.rewrites)
        return type(self), fields

    def display_facts(self) -> dict[str, object]:
        told = {"tensors": len(self.tensors), "symbols": sum(len(tensor.symbols) for tensor in self.tensors.values())}
        if self.rewrites:
            told["rewrites"] = len(self.rewrites)
        return {"architecture": str(self.architecture), "method": self.method, **told, "arithmetic": self.arithmetic}

    def display_rows(self) -> list[dict[str, object]]:
        """One row a tensor."""
        return [
            {"tensor": name, "form": tensor.form.name, "shape": str(tensor.shape), "symbols": len(tensor.symbols)}
            for name, tensor in self.tensors.items()
        ]


def is_relative(compressed: Compressed) -> bool:
    """Whether it is encoded against a base network."""
    return any(needs_base(tensor.form) for tensor in compressed.tensors.values())
