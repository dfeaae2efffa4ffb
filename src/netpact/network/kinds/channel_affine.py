"""netpact.layers.ChannelAffine: one scale and one shift for each channel."""

from __future__ import annotations

from netpact.algebra.outward import round_up_float
from netpact.layers import ChannelAffine
from netpact.network.kinds.kind import ANY_IMAGE, Layer, LayerKind, LayerSize, Shape
from netpact.network.kinds.sums import distance_of_sums, length_of_bias
from netpact.network.kinds.table import KINDS

_TERMS = 2  # one product and the shift


def _norm(layer: Layer, shape: Shape | None) -> tuple[float, float]:
    """|W|_op = max |w_c|."""
    largest = float(layer.weight.detach().abs().max())
    return largest, largest


def _size(layer: Layer) -> LayerSize:
    gain = round_up_float(_norm(layer, None)[1])
    offset = length_of_bias(layer)
    return LayerSize(gain=gain, roughness=gain, offset=offset, spill=1.0, terms=_TERMS, biases=layer.channels)


KINDS.add(
    LayerKind(
        name="channel_affine",
        types={ChannelAffine: ANY_IMAGE},
        norm=_norm,
        size=_size,
        distance=distance_of_sums,
    )
)
