"""Candidates whose weights all are signs, under a symmetry or none: GROUP:MODEL, GROUP+mirror:MODEL, signs:MODEL.

Channels of every convolution but the image's are permuted by the group, so a filter that is learned once is there in
all its turns and mirror images. With +mirror the last layer cannot tell left from right. Both are in the message: the
form of each tensor says which symmetry it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from netpact.algebra.symmetry import GROUPS, Symmetry
from netpact.coding.format import Compressed
from netpact.core.errors import PactError
from netpact.methods.network_signs import SignLayer
from netpact.models import Architecture, parameter_grids, parameter_shapes, parse_model

if TYPE_CHECKING:
    from netpact.coding.forms import CodedTensor
    from netpact.datasets import Data

PLAIN = "signs"
MIRROR = "mirror"
_PREFIXES = (PLAIN, *GROUPS)


@dataclass(frozen=True)
class SignPlan:
    architecture: Architecture
    layers: tuple[SignLayer, ...]

    @property
    def head(self) -> SignLayer:
        return self.layers[-1]

    def message(self, tensors: dict[str, CodedTensor]) -> Compressed:
        """In float64, in which near ties are rare."""
        return Compressed(self.architecture, tensors, "float64")

    def untrained(self) -> Compressed:
        """Every weight 1: a network of the size that training will give, at the most."""
        return self.message({one.name: one.encode(np.ones(one.free_shape, dtype=np.int8)) for one in self.layers})


def is_sign_candidate(name: str) -> bool:
    return name.partition(":")[0].partition("+")[0] in _PREFIXES


def parse_sign_candidate(name: str, data: Data) -> SignPlan:
    prefix, _, inner = name.partition(":")
    group, _, head_group = prefix.partition("+")
    if group not in _PREFIXES or head_group not in ("", MIRROR) or (group == PLAIN and head_group) or not inner:
        raise PactError(
            f"must be GROUP:MODEL or GROUP+{MIRROR}:MODEL with GROUP one of {', '.join(GROUPS)}, or {PLAIN}:MODEL; "
            f"got {name}",
            where="candidate",
            hint="for example p4m+mirror:lnconv:4-2-32-1-3-1-32-2-3-1-64-2",
        )
    architecture = parse_model(inner, input_shape=data.input_shape, classes=data.classes)
    shapes, grids = parameter_shapes(architecture), parameter_grids(architecture)
    refused = [key for key, shape in shapes.items() if not key.endswith(".weight") or len(shape) not in (2, 4)]
    if refused:
        raise PactError(
            f"only networks of convolutions and linear layers without bias are trained as signs; {architecture} has "
            f"{', '.join(refused)}",
            where="candidate",
            hint="lnconv:... has none",
        )
    return SignPlan(architecture, tuple(_layer(key, shapes, grids, group, head_group) for key in shapes))


def _layer(
    key: str, shapes: dict[str, tuple[int, ...]], grids: dict[str, tuple[int, ...]], group: str, head_group: str
) -> SignLayer:
    shape, names = shapes[key], list(shapes)
    grid = grids[key] if len(grids[key]) == 4 else (*shape, 1, 1)
    symmetry: Symmetry | None = None
    if key == names[-1]:
        symmetry = Symmetry(head_group, inputs=True, outputs=False) if head_group else None
    elif group != PLAIN:
        symmetry = Symmetry(group, inputs=key != names[0], outputs=True)
    outputs, inputs, rows, columns = grid
    if symmetry is not None and not symmetry.fits((outputs, inputs, rows, columns)):
        raise PactError(
            f"a layer of {outputs} outputs and {inputs} inputs does not have the symmetry {symmetry.group}",
            where=f"candidate, {key}",
            hint=f"its channels must be multiples of {symmetry.order}",
        )
    return SignLayer(key, shape, (outputs, inputs, rows, columns), symmetry)
