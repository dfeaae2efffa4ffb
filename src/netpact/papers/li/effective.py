"""The numbers that a network needs once each layer keeps only the components that a margin asks for (Table 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from netpact.measurements.tensors import TensorProperties
from netpact.methods.ranks_from_margin import MarginRanks


@dataclass(frozen=True)
class EffectiveLayer:
    """rank of all components are kept; weights: of the dense layer; parameters: numbers that are left.

    parameters is R^ (s + o + kx ky + 1) of a convolution, R^ (2 (s + s') + 1) of a linear layer in the square case, and
    the weights where no rank is enough and the layer stays as it is.
    """

    name: str
    weights: int
    components: int
    rank: int
    parameters: int

    @property
    def ratio(self) -> float:
        """Above 1 where the components need more numbers than the weights."""
        return self.parameters / self.weights


def count_effective(properties: TensorProperties, chosen: MarginRanks) -> tuple[EffectiveLayer, ...]:
    """What is left at these ranks, layer by layer (Theorems 4.5, E.6 and F.1)."""
    found = []
    for layer, kept in zip(properties.layers, chosen.layers, strict=True):
        weights = math.prod(layer.components.shape)
        parameters = weights if kept.whole else kept.parameters
        found.append(EffectiveLayer(layer.name, weights, layer.rank, kept.rank, parameters))
    return tuple(found)
