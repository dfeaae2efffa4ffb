"""nn.Conv1d, nn.Conv2d and nn.Conv3d with all their options."""

from __future__ import annotations

import math

from torch import nn
from torch.nn import functional

from netpact.algebra import operator_norm
from netpact.algebra.lipschitz import copying_norm
from netpact.network.kinds.kind import Layer, LayerKind, Measured, NormBounds, Shape
from netpact.network.kinds.sums import distance_of_sums, size_of_sums
from netpact.network.kinds.table import KINDS


def norm_of_convolution(layer: Layer, shape: Shape | None) -> NormBounds:
    if shape is not None:
        return operator_norm(layer, image_size=shape[-len(layer.kernel_size) :])
    # The image size serves the lower bound alone, which is not asked for: a small one saves the work.
    reach = max(d * (k - 1) for d, k in zip(layer.dilation, layer.kernel_size, strict=True))
    padding = 0 if isinstance(layer.padding, str) else max(layer.padding)
    return None, operator_norm(layer, image_size=2 * reach + padding + 1).upper


def _copies(layer: Layer, shape: Shape) -> float:
    if layer.padding_mode == "zeros":
        return 1.0
    amounts, mode = layer._reversed_padding_repeated_twice, layer.padding_mode
    places = shape[-len(layer.kernel_size) :]
    norms = copying_norm(lambda image: functional.pad(image, amounts, mode=mode), (1, 1, *places))
    assert norms is not None
    return norms[0]


def _cover(layer: Layer) -> int:
    """Along one axis an entry meets tap t of window w where s w + d t is its place: t is fixed modulo s / gcd(s, d)."""
    axes = zip(layer.kernel_size, layer.stride, layer.dilation, strict=True)
    return math.prod(-(-width * math.gcd(stride, dilation) // stride) for width, stride, dilation in axes)


# torch's own way to another weight, with the padding of every mode
_MEASURED = Measured(run=lambda layer, weight, inputs: layer._conv_forward(inputs, weight, None), axis=1, cover=_cover)

# Each with the axes of one sample where a rewrite can fold batch norm into it.
for _type, _folded in ((nn.Conv1d, None), (nn.Conv2d, 3), (nn.Conv3d, None)):
    KINDS.add(
        LayerKind(
            name=_type.__name__.lower(),
            types={_type: (int(_type.__name__[4]) + 2,)},
            norm=norm_of_convolution,
            size=size_of_sums,
            distance=distance_of_sums,
            copies=_copies,
            norm_axes=_folded,
            measured=_MEASURED,
        )
    )
