"""Ranks by layer name, as options of methods; and the layers that a method of ranks is about."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TypeVar

from torch import nn

from netpact.core.checks import check_integer, told
from netpact.core.errors import PactError, one_of
from netpact.layers import Chain
from netpact.layers.ranks import cp_modes
from netpact.layers.selection import default_skips, dense_layers
from netpact.methods.replacing import own_layers
from netpact.network import Network

Rank = int | tuple[int, ...]
Pairs = tuple[tuple[str, Rank], ...]
LayerRanks = Mapping[str, Rank] | Pairs | str | None
Part = TypeVar("Part", bound=nn.Module)


def by_layer(given: LayerRanks, *, most_sides: int = 1) -> Pairs | None:
    """{"conv2": 16} or "conv2:16,fc1:8" as sorted pairs, which can be hashed; with more sides (16, 8) or 16x8."""
    if given is None:
        return None
    pairs = _parse(given) if isinstance(given, str) else given.items() if isinstance(given, Mapping) else given
    named: dict[str, Rank] = {}
    with suppress(TypeError, ValueError):  # of what is no list of pairs
        named = dict(pairs)
    if not named or not all(isinstance(name, str) for name in named):
        raise PactError(f"must be a dict of ranks by layer name, got {told(given)}", where="ranks", hint=_HINT)
    return tuple(sorted((name, _check(rank, name, most_sides)) for name, rank in named.items()))


_HINT = 'for example {"conv2": 16}, or the text conv2:16,fc1:8'


def _parse(text: str) -> list[tuple[str, Rank]]:
    pairs = []
    for piece in text.split(","):
        name, _, rank = piece.rpartition(":")
        sides = rank.split("x")
        if not all(side.isascii() and side.isdigit() for side in sides):
            raise PactError(f"must be of the form layer:rank,layer:rank, got {told(text)}", where="ranks", hint=_HINT)
        numbers = tuple(map(int, sides))
        pairs.append((name, numbers if len(numbers) > 1 else numbers[0]))
    return pairs


def _check(rank: object, name: str, most_sides: int) -> Rank:
    if isinstance(rank, (tuple, list)) and len(rank) == most_sides > 1:
        return tuple(check_integer(side, where="ranks", least=1) for side in rank)
    if isinstance(rank, (tuple, list)):
        raise PactError(f"the rank of {name} must be an integer, got {told(rank)}", where="ranks")
    return check_integer(rank, where="ranks", least=1)


def dense_candidates(network: Network) -> dict[str, nn.Linear | nn.Conv2d]:
    """Linear layers and convolutions without groups whose tensors are their own, and that are no part of a chain."""
    own = own_layers(network)
    inner = {id(part) for chain in network.module.modules() if isinstance(chain, Chain) for part in chain.modules()}
    found = dense_layers(network.module)
    return {name: part for name, part in found.items() if name in own and id(part) not in inner}


def pick_layers(found: Mapping[str, Part], ranks: Pairs | None) -> dict[str, Part]:
    """Those that ranks names; without ranks all but a last linear layer, and those whose weights are mere matrices."""
    if ranks is None:
        dense: dict[str, nn.Linear | nn.Conv2d] = {
            name: part for name, part in found.items() if isinstance(part, (nn.Linear, nn.Conv2d))
        }
        skips = default_skips(dense) | {name for name, part in dense.items() if _is_matrix(part)}
        return {name: part for name, part in found.items() if name not in skips}
    for name, _ in ranks:
        if name not in found:
            raise one_of(name, found, option="ranks")
    return {name: found[name] for name, _ in ranks}


def _is_matrix(layer: nn.Linear | nn.Conv2d) -> bool:
    """As a convolution of one channel is, or of 1x1."""
    return sum(size > 1 for size in cp_modes(layer)) < 3
