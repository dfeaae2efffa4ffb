"""Layers in CP and Tucker form, what they take, and their weights composed by a formula of the tests' own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from netpact.layers import Chain, CPConv2d, CPLinear, HigherOrderCPConv2d, HigherOrderCPLinear, TuckerConv2d

IMAGE = (3, 6, 9, 8)


class Sample(NamedTuple):
    make: Callable[..., Any]
    shape: tuple[int, ...]


SAMPLES: dict[str, Sample] = {
    "conv": Sample(lambda **o: CPConv2d(6, 8, 3, 5, padding=1, **o), IMAGE),
    "stride": Sample(lambda **o: CPConv2d(6, 8, (3, 2), 5, stride=2, dilation=2, bias=False, **o), IMAGE),
    "reflect": Sample(lambda **o: CPConv2d(6, 4, 3, 20, padding=1, padding_mode="reflect", **o), IMAGE),
    "linear": Sample(lambda **o: CPLinear(12, 10, 4, **o), (3, 12)),
    "sides": Sample(lambda **o: CPLinear(12, 10, 4, in_shape=(2, 6), out_shape=(10, 1), bias=False, **o), (3, 12)),
    "sequence": Sample(lambda **o: CPLinear(12, 7, 4, **o), (3, 5, 2, 12)),
    "tucker": Sample(lambda **o: TuckerConv2d(6, 8, 3, (4, 3), padding=1, stride=2, **o), IMAGE),
    "order 4": Sample(lambda **o: HigherOrderCPLinear((6, 2), (2, 5), 4, **o), (3, 12)),
    "order 6": Sample(lambda **o: HigherOrderCPLinear((2, 3, 4), (5, 1, 2), 4, **o), (3, 5, 24)),
    "order 8": Sample(lambda **o: HigherOrderCPLinear((2, 1, 3, 2), (2, 3, 1, 2), 3, bias=False, **o), (3, 12)),
    "conv of order 6": Sample(lambda **o: HigherOrderCPConv2d((2, 3), (4, 2), 3, 5, padding=1, **o), IMAGE),
    "conv of order 8": Sample(
        lambda **o: HigherOrderCPConv2d((3, 1, 2), (2, 2, 2), (3, 2), 4, stride=(2, 1), bias=False, **o), IMAGE
    ),
}
CP = [name for name in SAMPLES if name != "tucker"]


def make(name: str, **options: Any) -> tuple[Any, Tensor]:
    """The layer in float64 with parameters from a fixed seed, and something to run it on."""
    torch.manual_seed(0)
    layer = SAMPLES[name].make(**{"dtype": torch.float64} | options)
    return layer, torch.randn(SAMPLES[name].shape, dtype=layer.bias.dtype if layer.bias is not None else torch.float64)


def compose(layer: Chain) -> Tensor:
    """The dense weight, from the definitions; gradients reach the parameters."""
    if isinstance(layer, CPConv2d):
        wide, narrow = layer.pointwise_out.weight.flatten(1), layer.pointwise_in.weight.flatten(1)
        return torch.einsum("or,ri,rkl->oikl", wide, narrow, layer.depthwise.weight[:, 0])
    if isinstance(layer, TuckerConv2d):
        wide, narrow = layer.pointwise_out.weight.flatten(1), layer.pointwise_in.weight.flatten(1)
        return torch.einsum("ow,wnkl,ni->oikl", wide, layer.core.weight, narrow)
    if isinstance(layer, CPLinear):
        rank, parts = layer.rank, (layer.out_columns, layer.in_rows, layer.in_columns)
        others = (part.weight.reshape(rank, -1) for part in parts)
        tensor = torch.einsum("ar,rb,rc,rd->abcd", layer.out_rows.weight.flatten(1), *others)
        return tensor.reshape(layer.out_features, layer.in_features)
    assert isinstance(layer, (HigherOrderCPLinear, HigherOrderCPConv2d))
    return _compose_cores(layer)


def _compose_cores(layer: HigherOrderCPLinear | HigherOrderCPConv2d) -> Tensor:
    """sum_r of Kronecker products of the matrices K^l_r, times the kernels C_r."""
    weights: list[Tensor] = [
        part.get_parameter("weight") for name, part in layer.named_children() if name.startswith("core_")
    ]
    shapes = list(zip(layer.out_shape, layer.in_shape, strict=True))
    cores = [weight.reshape(layer.rank, *shape) for weight, shape in zip(weights[:-1], shapes, strict=False)]
    cores.append(weights[-1].reshape(shapes[-1][0], layer.rank, shapes[-1][1]).movedim(1, 0))
    products = []
    for r in range(layer.rank):
        product = cores[0][r]
        for core in cores[1:]:
            product = torch.kron(product, core[r])
        products.append(product)
    if isinstance(layer, HigherOrderCPLinear):
        return torch.stack(products).sum(dim=0)
    return torch.einsum("rts,rkl->tskl", torch.stack(products), layer.depthwise.weight[:, 0])


def run_dense(layer: Chain, weight: Tensor, inputs: Tensor) -> Tensor:
    """What one dense layer of these settings does, with this weight and the layer's own bias."""
    if isinstance(layer, (CPLinear, HigherOrderCPLinear)):
        return nn.functional.linear(inputs, weight, layer.bias)
    assert isinstance(layer, (CPConv2d, TuckerConv2d, HigherOrderCPConv2d))
    settings: dict[str, Any] = {name: getattr(layer, name) for name in ("stride", "padding", "dilation")}
    settings |= {"kernel_size": layer.kernel_size, "padding_mode": layer.padding_mode}
    plain = nn.Conv2d(1, 1, **settings)
    return plain._conv_forward(inputs, weight, layer.bias)
