"""The layers of a network that have a CP form, and what they are at a rank: as the method CP makes them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from netpact.algebra import CPDecomposition
from netpact.layers import Chain, CPConv2d, CPLinear
from netpact.layers.ranks import cp_modes
from netpact.methods.cp import cp_candidates, put_components
from netpact.methods.cp_components import Layer, take_components
from netpact.methods.grids import Grid
from netpact.network import Network


class AtRank(NamedTuple):
    """A layer with its numbers rounded, what it takes in a message, and |W - W_R|_F / |W|_F before rounding."""

    rank: int
    layer: CPConv2d | CPLinear
    bits: float
    fit_error: float


@dataclass(frozen=True, eq=False)
class Subject:
    """A convolution without groups, a linear layer, or one of these in CP form.

    most  the largest rank to look at: the last one with fewer parameters than the layer
    """

    name: str
    part: Layer
    most: int

    @property
    def kind(self) -> str:
        return type(self.part).__name__

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the weight; of a CP layer: of the tensor that is never built."""
        return self.part.shape if isinstance(self.part, (CPConv2d, CPLinear)) else tuple(self.part.weight.shape)

    def ranks(self, points: int) -> list[int]:
        """At most so many, from 1 to the largest, each about the same factor above the one before."""
        steps = max(points - 1, 1)
        return sorted({round(self.most ** (step / steps)) for step in range(points)})

    def layers(self, ranks: Iterable[int], grid: Grid) -> Iterator[AtRank]:
        """A dense layer is decomposed, a CP layer keeps its largest components."""
        whole = self.part.components() if isinstance(self.part, (CPConv2d, CPLinear)) else None
        for rank in ranks:
            found = take_components(self.part, rank)
            if found is None or not found.rank:
                continue  # weights of 0 have no components
            coded = put_components(self.part, found, grid)
            layer = self._shell(found.rank)
            with torch.no_grad():
                for name, tensor in coded.weights.items():
                    layer.get_parameter(name).copy_(torch.from_numpy(tensor.weights()))
            yield AtRank(rank, layer, coded.bits, found.relative_error if whole is None else _rest(whole, rank))

    def _shell(self, rank: int) -> CPConv2d | CPLinear:
        part = self.part
        if isinstance(part, (CPConv2d, CPLinear)):
            return part.truncate(rank)
        return CPConv2d.like(part, rank) if isinstance(part, nn.Conv2d) else CPLinear.like(part, rank)


def find_subjects(network: Network) -> tuple[list[Subject], list[tuple[str, str]]]:
    """The layers that have a CP form, and the names of the others that have a matrix of weights, with the reason."""
    run = {layer.name for layer in network.layers}
    candidates, chains = cp_candidates(network), [p for p in network.module.modules() if isinstance(p, Chain)]
    inside = {id(part) for chain in chains for part in chain.modules() if part is not chain}
    found, left_out = list[Subject](), list[tuple[str, str]]()
    for name, part in network.module.named_modules():
        if id(part) in inside or not (isinstance(part, Chain) or _has_matrix(part)):
            continue
        if not any(layer == name or layer.startswith(f"{name}." if name else "") for layer in run):
            left_out.append((name, "it is never run"))
        elif name not in candidates:
            left_out.append((name, _no_form(part)))
        elif (most := _largest_rank(part)) < 1:
            left_out.append((name, "rank 1 has as many parameters as the layer, or more"))
        else:
            found.append(Subject(name, candidates[name], most))
    return found, left_out


def _has_matrix(part: nn.Module) -> bool:
    return any(tensor.dim() > 1 for tensor in part.parameters(recurse=False))


def _no_form(part: nn.Module) -> str:
    if type(part) is nn.Conv2d and part.groups > 1:
        return "a convolution with groups has no CP form"
    plain = type(part) in (nn.Conv2d, nn.Linear, CPConv2d, CPLinear)
    return "its weights serve elsewhere too" if plain else f"{type(part).__name__} has no CP form"


def _largest_rank(part: nn.Module) -> int:
    """With fewer parameters than the layer has, and never more than any tensor of this shape needs."""
    if isinstance(part, (CPConv2d, CPLinear)):
        return part.rank - 1
    modes = cp_modes(part)
    return min((math.prod(modes) - 1) // sum(modes), math.prod(modes) // max(modes))


def _rest(found: CPDecomposition, rank: int) -> float:
    """|sum of the components behind the first ones| / |sum of all|, by the Gram matrices of the factors."""
    gram = found.weights[:, None] * found.weights
    for factor in found.factors:
        gram = gram * (factor.T @ factor)
    whole, rest = (math.sqrt(max(0.0, float(part.sum()))) for part in (gram, gram[rank:, rank:]))
    return rest / whole if whole else 0.0
