"""CNN-Project and TNN-Project (Algorithms 5 and 6): the largest components of every layer, composed."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

import torch
from torch import nn

from netpact.core.checks import check_integer
from netpact.core.errors import PactError, one_of, wrong_kind
from netpact.layers import Chain
from netpact.layers.rewrites import replace_part
from netpact.measurements.tensors import LayerTensor, TensorProperties


def compose(module: nn.Module) -> nn.Module:
    """Every chain as the one layer that it computes, in the network's precision; a module without chains as it is."""
    if not any(isinstance(part, Chain) for part in module.modules()):
        return module
    made = copy.deepcopy(module)
    while chain := next((part for part in made.modules() if isinstance(part, Chain)), None):
        made = replace_part(made, chain, chain.to_dense())
    return made


def drop_identities(module: nn.Module) -> nn.Module:
    """Without the steps of sequences that do nothing: what is left of folded batch norm in a file."""
    made = copy.deepcopy(module)
    for part in made.modules():
        if type(part) is nn.Sequential:
            for name in [name for name, child in part._modules.items() if type(child) is nn.Identity]:
                del part._modules[name]
    return made


def project(composed: nn.Module, properties: TensorProperties, ranks: Sequence[int]) -> nn.Module:
    """The composed network with M_j in the place of each weight tensor, j its rank; in float64."""
    made = copy.deepcopy(composed).double().eval()
    parts = dict(made.named_modules())
    with torch.no_grad():
        for layer, rank in zip(properties.layers, ranks, strict=True):
            weight = parts[layer.name].weight
            assert isinstance(weight, torch.Tensor)
            weight.copy_(_largest(layer, rank).reshape(weight.shape))
    return made


def _largest(layer: LayerTensor, rank: int) -> torch.Tensor:
    found = layer.components
    kept = [factor[:, :rank].double() for factor in found.factors]
    if found.factors[0].is_meta:
        raise PactError("the factors were not kept", where=f"layer {layer.name}", hint="measure the network again")
    letters = "abcd"[: len(kept)]
    sides = ",".join(f"{letter}r" for letter in letters)
    return torch.einsum(f"r,{sides}->{letters}", found.weights[:rank].double(), *kept)


def read_ranks(ranks: Mapping[str, int] | Sequence[int], properties: TensorProperties) -> tuple[int, ...]:
    """One for each layer, in their order; layers that a mapping does not name keep all components."""
    names = [layer.name for layer in properties.layers]
    if isinstance(ranks, Mapping):
        for name in ranks:
            if name not in names:
                raise one_of(name, names, option="ranks")
        ranks = [ranks.get(layer.name, layer.rank) for layer in properties.layers]
    if isinstance(ranks, str) or not isinstance(ranks, Sequence):
        raise wrong_kind(ranks, needed="ranks, one for each layer or by name", where="compressed")
    if len(ranks) != len(names):
        raise PactError(f"must be one for each of {len(names)} layers, got {len(ranks)}", where="ranks")
    for layer, rank in zip(properties.layers, ranks, strict=True):
        check_integer(rank, where=f"ranks, {layer.name}", least=0, most=layer.rank)
    return tuple(ranks)
