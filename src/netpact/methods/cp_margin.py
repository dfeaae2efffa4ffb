"""CP with ranks from a margin: Algorithms 1 and 2 of Li et al. 2020."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import nn

from netpact.algebra import CPDecomposition
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.datasets import Samples
from netpact.measurements import TensorProperties, tensor_properties
from netpact.methods.cp_components import Layer, truncate
from netpact.methods.ranks_from_margin import MarginRanks, find_ranks
from netpact.methods.replacing import Replacement
from netpact.network import Network

Put = Callable[[str, CPDecomposition], Replacement | None]


@dataclass(frozen=True, eq=False)
class MarginChoice:
    """ranks of all weight layers; replacements for those that lose components."""

    ranks: MarginRanks
    found: Mapping[str, Replacement]


def measure_for_margin(network: Network, samples: Samples | None, progress: Progress | None) -> TensorProperties:
    """Layers that are not in CP form by their exact forms: nothing but the dropped components is lost."""
    if samples is None:
        raise PactError("it needs samples to measure the network on", where="margin", hint="give samples=data.train")
    if any(layer.kind == "batch_norm" for layer in network.layers):
        raise PactError(
            "ranks from a margin are for networks without batch norm",
            where="margin",
            hint="fold it first: netpact.fold_batch_norm(module, data); on the command line --fold",
        )
    return tensor_properties(network, samples, progress=progress)


def choose_for_margin(
    properties: TensorProperties, margin: float, layers: Mapping[str, Layer], put: Put
) -> MarginChoice:
    """CNN-Project and TNN-Project (Algorithms 5 and 6): each layer keeps its largest components.

    A layer that would not become smaller stays as it is; then the ranks are chosen again, because its norm is larger.

    layers  those that can be replaced
    put     the replacement of a layer by these components, None where it is not smaller
    """
    made: dict[tuple[str, int], Replacement | None] = {}
    keep = {layer.name for layer in properties.layers} - set(layers)
    while True:
        ranks = find_ranks(properties, margin=margin, keep=keep)
        chosen = {one.name: one.rank for one in ranks.layers if not one.whole and one.rank < one.components}
        for name, rank in chosen.items():
            if (name, rank) not in made:
                found = truncate(properties.layer(name).components, rank)
                made[name, rank] = put(name, as_order_4(found) if isinstance(layers[name], nn.Linear) else found)
        large = {name for name, rank in chosen.items() if made[name, rank] is None}
        if not large:
            found_for = {name: made[name, rank] for name, rank in chosen.items()}
            return MarginChoice(ranks, {name: own for name, own in found_for.items() if own is not None})
        keep |= large


def as_order_4(found: CPDecomposition) -> CPDecomposition:
    """Singular vectors of a matrix (out, in) as the components of a tensor (out, 1, in, 1)."""
    ones = torch.ones(1, found.rank, dtype=found.weights.dtype)
    (outputs, inputs), (wide, narrow) = found.factors, found.shape
    return replace(found, factors=(outputs, ones, inputs, ones), shape=(wide, 1, narrow, 1))
