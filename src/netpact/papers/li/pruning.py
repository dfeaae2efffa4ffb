"""Threshold pruning of a network with CP layers (Table 5): small components are dropped, nothing is trained again."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from netpact.datasets import Samples
from netpact.layers import CPConv2d
from netpact.training import error_rate

THRESHOLDS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)  # Table 5, and one more


@dataclass(frozen=True)
class Pruned:
    """parameters: all of the network's that are left; kept: the components of each CP layer."""

    threshold: float
    parameters: int
    accuracy: float
    kept: tuple[int, ...]

    @staticmethod
    def read(record: Mapping[str, Any]) -> Pruned:
        return Pruned(**{**record, "kept": tuple(record["kept"])})


def prune_by_threshold(module: nn.Module, threshold: float) -> nn.Module:
    """A copy; of each CP convolution the components whose amplitude is below the threshold times the largest go."""
    other = copy.deepcopy(module)
    for name, part in list(other.named_modules()):
        if isinstance(part, CPConv2d):
            parent = other.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], _prune_layer(part, threshold))
    return other


def measure_pruning(module: nn.Module, test: Samples, thresholds: tuple[float, ...] = THRESHOLDS) -> tuple[Pruned, ...]:
    return tuple(_measure(prune_by_threshold(module, one), test, one) for one in thresholds)


def _measure(module: nn.Module, test: Samples, threshold: float) -> Pruned:
    errors, count = error_rate(module, test)
    kept = tuple(part.rank for part in module.modules() if isinstance(part, CPConv2d))
    return Pruned(threshold, sum(one.numel() for one in module.parameters()), 1 - errors / count, kept)


@torch.no_grad()
def _prune_layer(layer: CPConv2d, threshold: float) -> CPConv2d:
    found = layer.components()
    largest = float(found.weights[0]) if found.rank else 0.0
    rank = int((found.weights >= threshold * largest).sum()) if threshold else layer.rank
    inner, middle, outer = layer.pointwise_in, layer.depthwise, layer.pointwise_out
    parts = (inner.weight.flatten(1), middle.weight.flatten(1), outer.weight.flatten(1).T)
    sizes = torch.stack([part.double().norm(dim=1) for part in parts]).prod(dim=0)
    chosen = sizes.argsort(descending=True, stable=True)[: max(rank, 1)].sort().values
    made = CPConv2d(
        inner.in_channels,
        outer.out_channels,
        middle.kernel_size,
        len(chosen),
        stride=middle.stride,
        padding=middle.padding,
        dilation=middle.dilation,
        padding_mode=middle.padding_mode,
        bias=outer.bias is not None,
    )
    made.pointwise_in.weight.copy_(inner.weight[chosen])
    made.depthwise.weight.copy_(middle.weight[chosen])
    made.pointwise_out.weight.copy_(outer.weight[:, chosen])
    if made.pointwise_out.bias is not None and outer.bias is not None:
        made.pointwise_out.bias.copy_(outer.bias)
    return made.train(layer.training)
