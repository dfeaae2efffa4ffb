"""The layers of a network that have a CP form, and what they are at a rank."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import nn

from netpact.algebra import ALSOptions, CPDecomposition, cp_decompose
from netpact.core.seed import Seed
from netpact.layers import Chain, CPConv2d, CPLinear
from netpact.layers.ranks import cp_modes
from netpact.network import Network

CPLayer = CPConv2d | CPLinear


@dataclass(frozen=True, eq=False)
class Subject:
    """A convolution without groups, a linear layer, or one of these in CP form.

    most  the largest rank to look at: of a dense layer with as many parameters, of a CP layer one below its own
    """

    name: str
    part: nn.Conv2d | nn.Linear | CPLayer
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

    def layers(self, ranks: Sequence[int], options: ALSOptions, seed: Seed) -> Iterator[tuple[CPLayer, float]]:
        """For each of the rising ranks the layer, and |W - W_R|_F / |W|_F.

        A dense layer is decomposed, each time from the components of the rank before and random ones; a CP layer keeps
        its largest components.
        """
        if isinstance(self.part, (CPConv2d, CPLinear)):
            whole = self.part.components()
            for rank in ranks:
                yield self.part.truncate(rank), _rest(whole, rank)
            return
        found: CPDecomposition | None = None
        for rank in ranks:
            part = self.part
            made = CPConv2d.like(part, rank) if isinstance(part, nn.Conv2d) else CPLinear.like(part, rank)
            tensor = made.tensor_of(part.weight.detach())
            found = cp_decompose(tensor, rank, options=options, seed=seed, start=found)
            made.set_components(found)
            yield made, found.relative_error


def find_subjects(network: Network) -> tuple[list[Subject], list[tuple[str, str]]]:
    """The layers that have a CP form, and the names of the others that have a matrix of weights, with the reason."""
    owners = Counter(id(tensor) for part in network.module.modules() for tensor in part.parameters(recurse=False))
    lent = {id(network.module.get_parameter(name)) for name in network.strays}
    run = {layer.name for layer in network.layers}
    found, left_out, inside = list[Subject](), list[tuple[str, str]](), set[int]()
    for name, part in network.module.named_modules():
        if id(part) in inside or not (isinstance(part, Chain) or _has_matrix(part)):
            continue
        parts = {part, *part.modules()} if isinstance(part, Chain) else {part}
        inside |= {id(one) for one in parts}
        if not any(layer == name or layer.startswith(f"{name}." if name else "") for layer in run):
            left_out.append((name, "it is never run"))
        elif any(owners[id(tensor)] > 1 or id(tensor) in lent for tensor in part.parameters()):
            left_out.append((name, "its weights serve elsewhere too"))
        elif why := _no_form(part):
            left_out.append((name, why))
        else:
            found.append(Subject(name, part, _largest_rank(part)))
    return found, left_out


def _has_matrix(part: nn.Module) -> bool:
    return any(tensor.dim() > 1 for tensor in part.parameters(recurse=False))


def _no_form(part: nn.Module) -> str:
    """Why a layer has no CP form of fewer parameters; "" if it has one."""
    if type(part) is nn.Conv2d and part.groups > 1:
        return "a convolution with groups has no CP form"
    if type(part) not in (nn.Conv2d, nn.Linear, CPConv2d, CPLinear):
        return f"{type(part).__name__} has no CP form"
    if _largest_rank(part) >= 1:
        return ""
    return "it has rank 1" if isinstance(part, Chain) else "rank 1 has more parameters than the layer"


def _largest_rank(part: nn.Module) -> int:
    """Of a dense layer: of equal parameter count, and never more than any tensor of this shape needs."""
    if isinstance(part, (CPConv2d, CPLinear)):
        return part.rank - 1
    modes = cp_modes(part)
    return math.prod(modes) // max(sum(modes), max(modes))


def _rest(found: CPDecomposition, rank: int) -> float:
    """|sum of the components behind the first ones| / |sum of all|, by the Gram matrices of the factors."""
    gram = found.weights[:, None] * found.weights
    for factor in found.factors:
        gram = gram * (factor.T @ factor)
    whole, rest = (math.sqrt(max(0.0, float(part.sum()))) for part in (gram, gram[rank:, rank:]))
    return rest / whole if whole else 0.0
