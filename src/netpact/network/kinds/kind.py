"""The record of one kind of layer: everything that netpact knows of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

# A layer of one kind; torch's own types for its attributes are too wide to be of use.
Layer = Any
Shape = tuple[int, ...]
NormBounds = tuple[float | None, float | None]

ANY_IMAGE = range(2, 65)  # axes of a tensor in torch, the samples' and one more at least


@dataclass(frozen=True, kw_only=True)
class LayerSize:
    """Upper bounds for one layer x -> W x + b.

    gain       |W|_op, for every image size
    roughness  the operator norm of the layer with |W| in place of W: what rounding errors are proportional to
    offset     |b|_2 of one place of the image; for batch norm of |scale * mean| + |b|
    spill      an upper bound on roughness of a change of norm 1
    terms      how many roundings one output takes: for sums of products their number, the bias included
    biases     how many there are or could be; each is added to equally many entries of a sample
    mean       what is subtracted from the input first, |mean|_2 of batch norm
    steepest   the largest factor of a step on the way, where that may exceed roughness
    """

    gain: float
    roughness: float
    offset: float
    spill: float
    terms: int
    biases: int
    mean: float = 0.0
    steepest: float = 1.0


@dataclass(frozen=True, kw_only=True)
class LayerDistance:
    """weights >= |W - W^|_op for every image size; shift >= |b - b^|_2 of one place of the image.

    For batch norm W is diag(scale) and b = bias - scale * mean; shift bounds the distance of the means and of the
    offsets |scale * mean| + |bias| as well, which its rounding depends on.
    """

    weights: float
    shift: float


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What the theory needs to know of a weight layer: one that it measures and compresses. W is its parameter weight,
    whose first axis counts the units and whose others make up the fan-in.

    run     the linear map W x with other weights in place of the layer's own: run(layer, weight, inputs)
    axis    of the output that counts the units, which have one bias each
    cover   ceil(kappa / stride)^2 of a convolution: how many windows see one entry of the input at most
    """

    run: Callable[[Layer, Tensor, Tensor], Tensor]
    axis: int
    cover: Callable[[Layer], int] = lambda layer: 1


def subtract_parameters(first: Layer, second: Layer) -> Layer:
    difference = copy.deepcopy(first).double()
    others = dict(second.named_parameters())
    with torch.no_grad():
        for name, parameter in difference.named_parameters():
            parameter.sub_(others[name].detach().double())
    return difference


@dataclass(frozen=True, kw_only=True)
class LayerKind:
    """Layers that compute W x + b, up to rounding.

    types       the classes, each with the numbers of axes that its input may have, the samples' first: a layer that
                takes them for something else would mix samples
    norm        (lower, upper) around |W|_op: lower on inputs of this shape, None without one; upper on all inputs.
                None where they are not known
    size        what a deviation bound needs of one layer, and
    distance    of two of one structure
    difference  a layer with the weights W - W^ and the bias b - b^; its numbers are rounded, by less than 2^-48 of
                those that they are differences of
    copies      padding by copies of entries makes the input of the sums larger: by this factor in the l2 norm
    shifts      whether b can be anything but 0
    norm_axes   axes of one sample of its output if a batch norm behind it can be folded into weight and bias, whose
                first axes count the channels; else None
    measured    None: the layer is part of the maps between weight layers
    """

    name: str
    types: Mapping[type[nn.Module], Collection[int]]
    norm: Callable[[Layer, Shape | None], NormBounds]
    size: Callable[[Layer], LayerSize]
    distance: Callable[[Layer, Layer], LayerDistance]
    difference: Callable[[Layer, Layer], Layer] = subtract_parameters
    copies: Callable[[Layer, Shape], float] = lambda layer, shape: 1.0
    shifts: Callable[[Layer], bool] = lambda layer: getattr(layer, "bias", None) is not None
    norm_axes: int | None = None
    measured: Measured | None = None
