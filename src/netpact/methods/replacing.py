"""Other structures in place of layers: fewer multiplications, not only fewer bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import nn

from netpact.coding.format import Compressed, own_slots, without_weights
from netpact.coding.forms import CodedTensor
from netpact.layers.rewrites import Rewrite, Step, name_layers
from netpact.methods.low_rank_fitting import code_length
from netpact.network import Network

_STEP_BITS = 40  # of a rewrite in the message, about


@dataclass(frozen=True, eq=False)
class Replacement:
    """What stands in the place of one layer.

    rewrite  that makes it; None for the same structure with other weights
    weights  by their names within it
    bias     the name within it of the layer's bias
    added    how many parts it has more than what it replaces
    """

    rewrite: Rewrite | None
    weights: Mapping[str, CodedTensor]
    bias: str
    added: int

    @property
    def numbers(self) -> int:
        return sum(int(np.prod(tensor.shape)) for tensor in self.weights.values())

    @property
    def bits(self) -> float:
        return sum(map(code_length, self.weights.values())) + (0 if self.rewrite is None else _STEP_BITS)


def own_layers(network: Network) -> dict[str, nn.Module]:
    """All parts of a network by name but those whose tensors are used elsewhere too: the others would lose them."""
    parts = dict(network.module.named_modules())
    owners = Counter(id(tensor) for part in parts.values() for tensor in part.parameters(recurse=False))
    lent = {id(network.module.get_parameter(name)) for name in network.strays}
    return {
        name: part
        for name, part in parts.items()
        if not any(owners[id(tensor)] > 1 or id(tensor) in lent for tensor in part.parameters())
    }


def replace_layers(
    network: Network,
    coded: Mapping[str, CodedTensor],
    found: Mapping[str, Replacement],
    plain: Mapping[str, CodedTensor],
) -> Compressed:
    """Every layer for which there is a replacement, where that takes fewer numbers, and fewer bits.

    coded  the tensors of layers that stay
    plain  the tensors that a replacement is compared with
    found  by the names of layers, of `own_layers`
    """
    tensors, steps, added = dict(coded), list[Step](), 0
    for number, (name, part) in enumerate(network.module.named_modules()):
        own, prefix = found.get(name), f"{name}." if name else ""
        if own is None:
            continue
        weights = [f"{prefix}{key}" for key, tensor in part.named_parameters() if tensor.dim() >= 2]
        if own.rewrite is not None and not is_smaller(own, [plain[weight] for weight in weights]):
            continue
        for weight in weights:
            del tensors[weight]
        tensors |= {f"{prefix}{key}": tensor for key, tensor in own.weights.items()}
        for key, tensor in part.named_parameters():
            if tensor.dim() < 2:
                tensors[f"{prefix}{own.bias}"] = tensors.pop(f"{prefix}{key}")
        if own.rewrite is not None:
            steps.append(Step(number + added, own.rewrite))
            added += own.added
    rewrites = tuple(steps)
    order = [slot.name for slot in own_slots(network.module, rewrites)]
    return Compressed(network.architecture, {name: tensors[name] for name in order}, rewrites=rewrites)


def is_smaller(own: Replacement, plain: list[CodedTensor]) -> bool:
    """Fewer numbers, and fewer bits."""
    numbers = sum(int(np.prod(tensor.shape)) for tensor in plain)
    return own.numbers < numbers and own.bits < sum(map(code_length, plain))


def changed_layers(network: Network, compressed: Compressed) -> tuple[tuple[str, Rewrite], ...]:
    """The layers that a method gave another structure, and which: by the names in the network that it was given."""
    steps = compressed.rewrites[len(network.rewrites) :]  # those before are of fold_batch_norm
    return name_layers(without_weights(network.module), steps) if steps else ()
