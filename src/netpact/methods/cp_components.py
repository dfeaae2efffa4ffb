"""Which components of a layer are kept: of its decomposition, or of a layer in CP form."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor, nn

from netpact.algebra import ALSOptions, CPDecomposition, cp_decompose
from netpact.algebra.cp_within import RankSearch, cp_within
from netpact.core.seed import Seed
from netpact.layers import CPConv2d, CPLinear, rank_for_share
from netpact.layers.ranks import cp_modes

Layer = nn.Linear | nn.Conv2d | CPConv2d | CPLinear
# One start from singular vectors: a random one hardly ever ends lower, and all of them cost as much.
_OPTIONS = ALSOptions(sweeps=100, tolerance=1e-4, starts=1)
_SEED = Seed(0)


def rank_within(layer: Layer, share: float) -> int:
    """The most components whose factors have at most this share of the layer's numbers, or 1."""
    if isinstance(layer, (CPConv2d, CPLinear)):
        return max(1, math.floor(share * layer.rank))
    return rank_for_share(layer, share)


def take_components(layer: Layer, rank: int) -> CPDecomposition | None:
    """The largest ones of a CP layer, those of a decomposition of a dense one; None where they have more numbers."""
    if isinstance(layer, (CPConv2d, CPLinear)):
        return truncate(layer.components(), rank)
    modes = cp_modes(layer)
    return _decompose(layer, rank) if rank * sum(modes) < math.prod(modes) else None


def above_threshold(layer: Layer, threshold: float) -> CPDecomposition:
    """The components of at least this share of the largest lambda (Li et al. 2020, Table 5).

    A dense layer is decomposed at equal parameter count first. Nothing is fitted again afterwards.
    """
    if isinstance(layer, (CPConv2d, CPLinear)):
        found = layer.components()
    else:
        found = _decompose(layer, rank_for_share(layer, 1.0))
    largest = float(found.weights.max()) if found.rank else 0.0
    return truncate(found, int(torch.count_nonzero(found.weights >= threshold * largest)))


def within_error(layer: Layer, error: float) -> CPDecomposition | None:
    """The fewest components with at most this error relative to the layer's weight; None where they are too many."""
    if isinstance(layer, (CPConv2d, CPLinear)):
        found = layer.components()
        enough = torch.nonzero(_tail_errors(found) <= error)
        return truncate(found, int(enough[0]) if len(enough) else found.rank)
    ranks = RankSearch(most=rank_for_share(layer, 1.0))
    return cp_within(weight_tensor(layer), error, ranks, options=_OPTIONS, seed=_SEED)


def _tail_errors(found: CPDecomposition) -> Tensor:
    """For j = 0, 1, ... the norm of all components but the largest j, relative to that of all of them."""
    products = torch.outer(found.weights, found.weights).double()
    for factor in found.factors:
        products *= factor.double().T @ factor.double()
    squares = products.flip(0, 1).cumsum(0).cumsum(1).diagonal().flip(0).clamp(min=0)
    return (squares / squares[:1]).sqrt()


def _decompose(layer: nn.Linear | nn.Conv2d, rank: int) -> CPDecomposition:
    return cp_decompose(weight_tensor(layer), rank, options=_OPTIONS, seed=_SEED)


def weight_tensor(layer: nn.Linear | nn.Conv2d) -> Tensor:
    """With the modes of its CP form."""
    return layer.weight.detach().reshape(cp_modes(layer))


def truncate(found: CPDecomposition, rank: int) -> CPDecomposition:
    return replace(found, weights=found.weights[:rank], factors=tuple(factor[:, :rank] for factor in found.factors))
