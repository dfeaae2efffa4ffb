"""netpact.layers.Shift: a bias alone, W is the identity."""

from __future__ import annotations

from netpact.layers import Shift
from netpact.network.kinds.kind import ANY_IMAGE, Layer, LayerDistance, LayerKind, LayerSize, subtract_parameters
from netpact.network.kinds.sums import length_of_bias
from netpact.network.kinds.table import KINDS

_TERMS = 2  # the input and the bias


def _size(layer: Layer) -> LayerSize:
    offset = length_of_bias(layer)
    return LayerSize(
        gain=layer.slope, roughness=layer.slope, offset=offset, spill=1.0, terms=_TERMS, biases=layer.features
    )


def _difference(first: Layer, second: Layer) -> Layer:
    difference = subtract_parameters(first, second)
    difference.slope = first.slope - second.slope
    return difference


def _distance(first: Layer, second: Layer) -> LayerDistance:
    difference = _difference(first, second)
    return LayerDistance(weights=abs(difference.slope), shift=length_of_bias(difference))


KINDS.add(
    LayerKind(
        name="shift",
        types={Shift: ANY_IMAGE},
        norm=lambda layer, shape: (layer.slope, layer.slope),
        size=_size,
        distance=_distance,
        difference=_difference,
    )
)
