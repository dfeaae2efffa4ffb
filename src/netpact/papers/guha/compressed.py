"""The premise of Theorem 3.1, checked: the strongest pruning that a margin survives on the samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from netpact.algebra.sketching import distributed_sparsity
from netpact.core.errors import PactError
from netpact.datasets import Samples
from netpact.measurements.streaming import norms_of
from netpact.papers.guha.pruned import prune_matrices, round_matrices, weight_of
from netpact.papers.guha.theory import PrunedCount, TheoryLayer

_BITS = tuple(range(2, 25))
_SCALES = tuple(2.0**power for power in range(-40, 15))  # of which one is the d
_BATCH = 1024


@dataclass(frozen=True, eq=False)
class MeasuredPruning:
    """A network pruned and rounded so far that no output moves by more than gamma / sqrt(2) on the samples.

    scale   the d of Algorithm 1; None where nothing may be pruned
    bits    each number is one of 2^bits + 1 multiples of a step
    error   the largest |f - g| over the samples
    """

    module: nn.Module
    scale: float | None
    bits: int
    error: float
    counts: tuple[PrunedCount, ...]


def find_pruning(
    module: nn.Module, layers: Sequence[TheoryLayer], samples: Samples, *, gamma: float, seed: int = 0
) -> MeasuredPruning:
    """The fewest bits for which rounding uses at most half of the room, then the largest d for the whole of it.

    A margin moves by at most sqrt(2) |f - g|. One draw of the masks, nested in d: searched by halving, so that the d
    found is good whether or not the error grows with d.
    """
    room, names = gamma / math.sqrt(2), [layer.name for layer in layers]
    logits = _logits(module, samples)

    def build(bits: int, scale: float | None) -> nn.Module:
        pruned = module if scale is None else prune_matrices(module, scale=scale, seed=seed, names=names)
        return round_matrices(pruned, {layer.name: _step(layer, bits) for layer in layers})

    def error(bits: int, scale: float | None) -> float:
        return float(norms_of(_logits(build(bits, scale), samples) - logits).max())

    bits = next((bits for bits in _BITS if error(bits, None) <= room / 2), None)
    if bits is None:
        raise PactError("is too small for numbers of 24 bits", where=f"gamma {gamma:.3g}")
    low, high = -1, len(_SCALES)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if error(bits, _SCALES[middle]) <= room else (low, middle)
    scale = None if low < 0 else _SCALES[low]
    made = build(bits, scale)
    return MeasuredPruning(made, scale, bits, error(bits, scale), _count(made, layers, bits))


def _step(layer: TheoryLayer, bits: int) -> float:
    return 2 * layer.largest / 2**bits


def _count(module: nn.Module, layers: Sequence[TheoryLayer], bits: int) -> tuple[PrunedCount, ...]:
    found = []
    for layer in layers:
        weight = weight_of(module, layer.name)
        kept = int(torch.count_nonzero(weight))
        most = max(distributed_sparsity(weight))
        found.append(PrunedCount(layer=layer, kept=float(kept), nonzeros=float(most), levels=2.0**bits + 1))
    return tuple(found)


@torch.no_grad()
def _logits(module: nn.Module, samples: Samples) -> Tensor:
    return torch.cat([module(torch.from_numpy(inputs)).double() for inputs, _ in samples.batches(_BATCH)])
