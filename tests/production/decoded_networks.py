"""Files of all kinds that decode: rounded, factored, narrower, of integers, with a fixed stem, with layer norms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor, nn

import netpact
from netpact.coding.format import Pact
from netpact.datasets import load_data
from netpact.layers.factored import Chain
from netpact.layers.whole.layers import WholeLayer
from netpact.methods.method import Method


@cache
def rounded() -> nn.Module:
    return _decode("resnet:8-4-1", netpact.Quantize(bits=6, per_channel=True))


@cache
def factored_by_svd() -> nn.Module:
    module = _decode("mlp:32-32", netpact.TruncatedSVD(rank=4))
    assert len(list(module.modules())) > len(list(_original("mlp:32-32").modules())), "layers became two"
    return module


@cache
def factored_by_cp() -> nn.Module:
    module = _decode("conv:8-16", netpact.CP(share=0.4))
    assert any(isinstance(part, Chain) for part in module.modules())
    return module


@cache
def narrower() -> nn.Module:
    module = _decode("resnet:8-4-1", netpact.MagnitudePrune(unit="filters", keep=0.5))
    assert 0 < _size(module) < 0.7 * _size(_original("resnet:8-4-1"))
    return module


@cache
def integers() -> nn.Module:
    return _decode("resnet:8-4-1", netpact.WholeNumber(bits=6))


@cache
def integers_with_wide_sums() -> nn.Module:
    """Large weights of one size, so that sums pass 2^24; and an average over windows."""
    torch.default_generator.manual_seed(0)
    own = nn.Sequential(
        nn.Conv2d(1, 96, 3, padding=1),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Conv2d(96, 4, 3, padding=1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 10),
    )
    with torch.no_grad():
        for parameter in own.parameters():
            parameter.copy_(torch.sign(parameter) * (0.09 + 0.01 * torch.rand_like(parameter)))
    compressed = netpact.compress(netpact.trace(own, digits()), netpact.WholeNumber(bits=8), samples=digits().train)
    module = netpact.seal(compressed).to_module(own)
    assert any(part.carriers == "float64" for part in module.modules() if isinstance(part, WholeLayer))
    return module


@cache
def with_a_stem() -> nn.Module:
    return _decode("oriented:8-5-4-2-4", netpact.Quantize(grid="ternary"))


@cache
def with_contours() -> nn.Module:
    return _decode("contours:4-3-2-4", netpact.Quantize(grid="ternary"))


@cache
def with_sobel_edges() -> nn.Module:
    return _decode("sobel:8-5-4-2-2-6", netpact.Quantize(grid="ternary"))


@cache
def with_layer_norms() -> nn.Module:
    return _decode("lnconv:4-2-8-1-3-1-8-2", netpact.Quantize(grid="ternary"))


WHOLE: tuple[Callable[[], nn.Module], ...] = (
    integers,
    integers_with_wide_sums,
    with_a_stem,
    with_contours,
    with_sobel_edges,
)
FLOATS: tuple[Callable[[], nn.Module], ...] = (
    rounded,
    factored_by_svd,
    factored_by_cp,
    narrower,
    with_layer_norms,
)


@cache
def digits() -> netpact.Data:
    return load_data("digits")


def images(count: int) -> Tensor:
    return torch.from_numpy(next(iter(digits().train.batches(count)))[0].copy())


@cache
def _original(name: str) -> nn.Module:
    return netpact.build(netpact.parse_model(name, input_shape=digits().input_shape, classes=10))


def _decode(name: str, method: Method) -> nn.Module:
    network = netpact.trace(_original(name), digits())
    pact = netpact.seal(netpact.compress(network, method, samples=digits().train))
    return Pact.from_bytes(pact.to_bytes()).to_module()


def _size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
