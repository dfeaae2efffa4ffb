"""nn.Linear: W x + b for a vector, or for every row of a matrix."""

from __future__ import annotations

from torch import nn
from torch.nn import functional

from netpact.algebra import operator_norm
from netpact.network.kinds.kind import ANY_IMAGE, LayerKind, Measured
from netpact.network.kinds.sums import distance_of_sums, size_of_sums
from netpact.network.kinds.table import KINDS

KINDS.add(
    LayerKind(
        name="linear",
        types={nn.Linear: ANY_IMAGE},
        norm=lambda layer, shape: operator_norm(layer),
        size=size_of_sums,
        distance=distance_of_sums,
        norm_axes=1,
        measured=Measured(run=lambda layer, weight, inputs: functional.linear(inputs, weight), axis=-1),
    )
)
