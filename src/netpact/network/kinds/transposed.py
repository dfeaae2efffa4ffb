"""nn.ConvTranspose1d, nn.ConvTranspose2d and nn.ConvTranspose3d: adjoints of convolutions, and a bias.

The weight of a transposed convolution from n to m channels is that of the convolution from m to n whose adjoint it is,
so both have one norm, and |W| one roughness. What output_padding adds and padding crops changes
neither.
"""

from __future__ import annotations

from dataclasses import replace

from torch import nn

from netpact.network.kinds.convolutions import norm_of_convolution
from netpact.network.kinds.kind import Layer, LayerKind, LayerSize
from netpact.network.kinds.sums import distance_of_sums, size_of_sums
from netpact.network.kinds.table import KINDS


def _size(layer: Layer) -> LayerSize:
    inputs, outputs = layer.in_channels // layer.groups, layer.out_channels
    return replace(size_of_sums(layer), terms=inputs * layer.weight[0, 0].numel() + 1, biases=outputs)


KINDS.add(
    LayerKind(
        name="conv_transpose",
        types={nn.ConvTranspose1d: (3,), nn.ConvTranspose2d: (4,), nn.ConvTranspose3d: (5,)},
        norm=norm_of_convolution,
        size=_size,
        distance=distance_of_sums,
    )
)
