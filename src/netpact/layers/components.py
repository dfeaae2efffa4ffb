"""What layers in CP form have in common: how they begin, and how the weights of components go into factors."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from netpact.algebra import CPDecomposition
from netpact.core.errors import PactError


def init_uniform(weight: Tensor, variance: float) -> None:
    bound = math.sqrt(3 * variance)
    weight.uniform_(-bound, bound)


def spread_weights(found: CPDecomposition, rank: int) -> list[Tensor]:
    """The factors, each column times the N-th root of its weight; columns of zeros up to the rank."""
    if found.rank > rank:
        raise PactError(f"the layer has rank {rank}, the decomposition {found.rank}", where="components")
    roots = found.weights.double() ** (1 / len(found.factors))
    return [
        torch.nn.functional.pad(factor.double() * roots, (0, rank - found.rank)).to(factor.dtype)
        for factor in found.factors
    ]
