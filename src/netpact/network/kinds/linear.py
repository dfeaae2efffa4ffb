"""nn.Linear: W x + b for a vector, or for every row of a matrix."""

from __future__ import annotations

from torch import nn
from torch.nn import functional

from netpact.algebra import OperatorNorm, operator_norm
from netpact.network.kinds.kind import ANY_IMAGE, Layer, LayerKind, Measured, Shape
from netpact.network.kinds.sums import distance_by, size_of_sums
from netpact.network.kinds.table import KINDS


def _norm(layer: Layer, shape: Shape | None) -> OperatorNorm:
    return operator_norm(layer)


KINDS.add(
    LayerKind(
        name="linear",
        types={nn.Linear: ANY_IMAGE},
        norm=_norm,
        size=lambda layer: size_of_sums(layer, gain=_norm(layer, None).upper),
        distance=distance_by(_norm),
        norm_axes=1,
        measured=Measured(run=lambda layer, weight, inputs: functional.linear(inputs, weight), axis=-1),
    )
)
