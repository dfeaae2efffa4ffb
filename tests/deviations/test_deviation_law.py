"""The law of deviation bounds for every family of networks, whatever was done to their weights."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from network.rounding_nets import spread_norms
from torch import Tensor, nn

from netpact.coding.format.loading import load_module
from netpact.datasets import ArraySamples, Data
from netpact.deviations import deviation_bound
from netpact.methods import Quantize, compress
from netpact.models import build, parse_model
from netpact.network import trace

SMALL = ("linear", "mlp:12-8", "conv:4-6", "convnet:1-3-4-4")
NORMED = (
    "vgg:11-1",
    "resnet:8-2",
    "preresnet:8-2",
    "wrn:10-1",
    "densenet:7-3",
    "cp-resnet:8-2-50",
    "bottleneck:11-2-2-1",
    "shufflenet:11-2-1",
)
FAMILIES = (*SMALL, "lenet5", "alexnet:1", *(f"{name}-{norm}" for norm in (1, 2) for name in NORMED))
SIDE = 12


def drawn() -> Data:
    x = np.random.default_rng(0).random((12, 1, SIDE, SIDE)).astype(np.float32)
    return Data("drawn", 3, ArraySamples(x, np.arange(12) % 3, "drawn", 3))


def family(name: str) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return spread_norms(build(parse_model(name, input_shape=(1, SIDE, SIDE), classes=3)))


def replaced(change: Callable[[Tensor], Tensor]) -> Callable[[nn.Module, Data], nn.Module]:
    """Every parameter with its replacement; the running statistics of batch norm stay."""

    def apply(module: nn.Module, data: Data) -> nn.Module:
        other = copy.deepcopy(module)
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.copy_(change(parameter))
        return other

    return apply


def quantized(bits: int) -> Callable[[nn.Module, Data], nn.Module]:
    return lambda module, data: load_module(compress(trace(module, data), Quantize(bits=bits)), None)


def ternary(w: Tensor) -> Tensor:
    kept = w.abs() > 0.7 * w.abs().mean()
    return torch.sign(w) * kept * (w.abs() * kept).sum() / kept.sum().clamp(min=1)


def pruned(w: Tensor) -> Tensor:
    return w * (w.abs() >= w.abs().quantile(0.7))


def low_rank(w: Tensor) -> Tensor:
    if w.dim() < 2:
        return w
    u, s, v = torch.linalg.svd(w.flatten(1), full_matrices=False)
    rank = max(1, len(s) // 2)
    return ((u[:, :rank] * s[:rank]) @ v[:rank]).reshape(w.shape)


def noisy(share: float) -> Callable[[Tensor], Tensor]:
    def change(w: Tensor) -> Tensor:
        generator = torch.Generator().manual_seed(w.numel())
        return w + share * w.abs().mean() * torch.randn(w.shape, generator=generator)

    return change


CHANGES: dict[str, Callable[[nn.Module, Data], Any]] = {
    "2 bits": quantized(2),
    "5 bits": quantized(5),
    "9 bits": quantized(9),
    "ternary": replaced(ternary),
    "pruned": replaced(pruned),
    "low rank": replaced(low_rank),
    "noise": replaced(noisy(1.0)),
    "little noise": replaced(noisy(1e-6)),
}


def changes_for(name: str) -> list[str]:
    """All for small networks; the deep ones get them in turn."""
    names, turn = list(CHANGES), FAMILIES.index(name)
    return names if name in SMALL else [names[turn % len(names)]]


@pytest.mark.parametrize("name", FAMILIES)
@torch.no_grad()
def test_measured_never_exceeds_the_bound(name: str) -> None:
    """Both networks in float64, and both in float32, where rounding alone can set them apart."""
    original, data = family(name), drawn()
    x = torch.from_numpy(next(iter(data.train.batches(12)))[0])
    for what in changes_for(name):
        other = CHANGES[what](original, data)
        deviation = deviation_bound(original, other, data)
        single = torch.linalg.vector_norm((other(x) - original(x)).double(), dim=1).numpy()
        assert bool((deviation.measured <= deviation.bounds).all()), what
        assert bool((single <= deviation.bounds).all()), what
        assert bool(np.isfinite(deviation.bounds).all()), what
