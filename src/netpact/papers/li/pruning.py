"""Threshold pruning of a network with CP layers (Table 5): small components are dropped, nothing is trained again."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from netpact.certificates import Certificate
from netpact.datasets import Data
from netpact.layers.components import CPChain
from netpact.layers.rewrites.rewrite import replace_part
from netpact.methods import CP, Quantize, compress
from netpact.network import trace
from netpact.pacts.certification import certify
from netpact.training import error_rate

THRESHOLDS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)  # Table 5, and one more
_BITS = 8


@dataclass(frozen=True)
class Pruned:
    """parameters: all of the network's that are left; kept: the components of each CP layer.

    message_bytes, bound, sealed_accuracy  of the file with 8 bits for each weight, batch norm as it is: its size, the
                certified bound from the training samples, and the test accuracy of what is in it
    """

    threshold: float
    parameters: int
    accuracy: float
    kept: tuple[int, ...]
    message_bytes: int
    bound: float
    sealed_accuracy: float

    @staticmethod
    def read(record: Mapping[str, Any]) -> Pruned:
        return Pruned(**{**record, "kept": tuple(record["kept"])})


def prune_by_threshold(module: nn.Module, threshold: float) -> nn.Module:
    """A copy; of each CP layer the components whose amplitude is below the threshold times the largest go."""
    other = copy.deepcopy(module)
    for _, part in _chains(other):
        replace_part(other, part, _prune_layer(part, threshold))
    return other


def measure_pruning(module: nn.Module, data: Data, thresholds: tuple[float, ...] = THRESHOLDS) -> tuple[Pruned, ...]:
    return tuple(_measure(module, data, one) for one in thresholds)


def _chains(module: nn.Module) -> list[tuple[str, CPChain]]:
    return [(name, part) for name, part in module.named_modules() if isinstance(part, CPChain)]


def _measure(module: nn.Module, data: Data, threshold: float) -> Pruned:
    assert data.test is not None, "the networks of experiments are tested"
    other = prune_by_threshold(module, threshold)
    errors, count = error_rate(other, data.test)
    sealed = _certify(module, data, threshold)
    return Pruned(
        threshold,
        sum(one.numel() for one in other.parameters()),
        1 - errors / count,
        tuple(part.rank for _, part in _chains(other)),
        sealed.message_bytes,
        sealed.bound,
        1 - (sealed.test_error or 0.0),
    )


def _certify(module: nn.Module, data: Data, threshold: float) -> Certificate:
    """In float64: rounding bounds of float32 are too wide for chains of so many layers."""
    method = CP(threshold=threshold, bits=_BITS) if threshold else Quantize(bits=_BITS)
    found = certify(compress(trace(module, data), method, arithmetic="float64"), data).certificate
    assert found is not None, "certify gives one"
    return found


def _prune_layer(layer: CPChain, threshold: float) -> CPChain:
    """One component stays in any case: a layer of none is no layer."""
    found = layer.spectrum()
    large = int((found >= threshold * found[0]).sum()) if len(found) else 0
    return layer.truncate(max(1, large)) if threshold else layer
