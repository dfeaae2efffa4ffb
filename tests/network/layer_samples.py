"""Layers of every kind, each with the shape of one sample of its input; and two kinds added from outside."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from netpact.algebra import matrix_norm
from netpact.algebra.outward import round_up_float
from netpact.layers import ChannelAffine, Shift
from netpact.network.kinds import LayerKind, LayerSize, Measured
from netpact.network.kinds.kind import ANY_IMAGE, Layer, Shape
from netpact.network.kinds.sums import distance_of_sums, size_of_sums

LAYERS: dict[str, tuple[tuple[int, ...], Any]] = {
    "linear": ((12,), nn.Linear(12, 7)),
    "linear on many": ((3, 12), nn.Linear(12, 7)),
    "no bias": ((12,), nn.Linear(12, 7, bias=False)),
    "conv": ((2, 7, 6), nn.Conv2d(2, 5, 3, padding=1)),
    "stride": ((4, 9, 8), nn.Conv2d(4, 6, (3, 2), stride=2, groups=2, bias=False)),
    "strided and dilated": ((2, 9, 9), nn.Conv2d(2, 3, 3, stride=2, dilation=2, padding=2)),
    "circular": ((2, 6, 6), nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular")),
    "reflect": ((2, 6, 6), nn.Conv2d(2, 3, 3, padding=2, dilation=2, padding_mode="reflect")),
    "replicate": ((2, 6, 6), nn.Conv2d(2, 3, 3, padding=2, padding_mode="replicate")),
    "line": ((2, 9), nn.Conv1d(2, 3, 3, padding=1)),
    "line, strided": ((4, 9), nn.Conv1d(4, 6, 3, stride=2, groups=2, dilation=2, padding=2)),
    "circular line": ((2, 6), nn.Conv1d(2, 3, 3, padding=1, padding_mode="circular")),
    "solid": ((2, 4, 3, 4), nn.Conv3d(2, 3, 2, padding=1)),
    "solid, strided": ((2, 5, 4, 4), nn.Conv3d(2, 4, (3, 2, 1), stride=2, groups=2, bias=False)),
    "replicated solid": ((1, 3, 3, 3), nn.Conv3d(1, 2, 3, padding=1, padding_mode="replicate")),
    "transposed line": ((4, 5), nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, groups=2)),
    "transposed": ((3, 4, 3), nn.ConvTranspose2d(3, 2, 3, stride=2, output_padding=1)),
    "transposed, dilated": ((2, 4, 4), nn.ConvTranspose2d(2, 3, 2, dilation=2, padding=1, bias=False)),
    "transposed solid": ((2, 3, 2, 3), nn.ConvTranspose3d(2, 3, 2, stride=2)),
    "norm": ((5,), nn.BatchNorm1d(5)),
    "norm of images": ((3, 4, 4), nn.BatchNorm2d(3)),
    "channels": ((3, 4, 5), ChannelAffine(3)),
    "channels of a vector": ((3,), ChannelAffine(3)),
    "channels of a line": ((3, 7), ChannelAffine(3)),
    "bias alone": ((4,), Shift(4)),
    "bias alone of rows": ((3, 4), Shift(4)),
    "plain norm": ((3, 4, 4), nn.BatchNorm2d(3, affine=False)),
}


def prepared(name: str, generator: torch.Generator, layers: Mapping[str, tuple[tuple[int, ...], Any]] = LAYERS) -> Any:
    layer = copy.deepcopy(layers[name][1]).double().eval()
    with torch.no_grad():
        for key, tensor in layer.state_dict().items():
            if tensor.is_floating_point():
                low, high = (0.05, 3.0) if key == "running_var" else (-1.0, 1.0)
                tensor.copy_(low + (high - low) * torch.rand(tensor.shape, generator=generator))
    # float32 numbers, so that the layer can be run in float32 too
    return layer.float().double()


class Scale(nn.Module):
    """One number for all entries."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([2.5]))

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x.unsqueeze(-1), self.weight.view(1, 1)).squeeze(-1)


def _norm_of_scale(layer: Layer, shape: Shape | None) -> tuple[float, float]:
    size = float(layer.weight.detach().abs())
    return size, size


def _size_of_scale(layer: Layer) -> LayerSize:
    gain = round_up_float(float(layer.weight.detach().abs()))
    return LayerSize(gain=gain, roughness=gain, offset=0.0, spill=1.0, terms=2, biases=1)


SCALE = LayerKind(
    name="scale",
    types={Scale: ANY_IMAGE},
    norm=_norm_of_scale,
    size=_size_of_scale,
    distance=distance_of_sums,
)


class Dense(nn.Module):
    """A matrix of somebody's own."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(outputs, inputs))

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight)


DENSE = LayerKind(
    name="dense",
    types={Dense: ANY_IMAGE},
    norm=lambda layer, shape: matrix_norm(layer.weight),
    size=size_of_sums,
    distance=distance_of_sums,
    measured=Measured(run=lambda layer, weight, inputs: functional.linear(inputs, weight), axis=-1),
)
