"""Threshold pruning of a network with CP layers (Table 5): small components are dropped, nothing is trained again."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from netpact.datasets import Samples
from netpact.layers.components import CPChain
from netpact.layers.rewrites.rewrite import replace_part
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
    """A copy; of each CP layer the components whose amplitude is below the threshold times the largest go."""
    other = copy.deepcopy(module)
    for _, part in _chains(other):
        replace_part(other, part, _prune_layer(part, threshold))
    return other


def measure_pruning(module: nn.Module, test: Samples, thresholds: tuple[float, ...] = THRESHOLDS) -> tuple[Pruned, ...]:
    return tuple(_measure(prune_by_threshold(module, one), test, one) for one in thresholds)


def _chains(module: nn.Module) -> list[tuple[str, CPChain]]:
    return [(name, part) for name, part in module.named_modules() if isinstance(part, CPChain)]


def _measure(module: nn.Module, test: Samples, threshold: float) -> Pruned:
    errors, count = error_rate(module, test)
    kept = tuple(part.rank for _, part in _chains(module))
    return Pruned(threshold, sum(one.numel() for one in module.parameters()), 1 - errors / count, kept)


def _prune_layer(layer: CPChain, threshold: float) -> CPChain:
    """One component stays in any case: a layer of none is no layer."""
    found = layer.spectrum()
    large = int((found >= threshold * found[0]).sum()) if len(found) else 0
    return layer.truncate(max(1, large)) if threshold else layer
