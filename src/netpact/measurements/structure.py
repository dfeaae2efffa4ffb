"""The weight layers of the theory in a network: their sizes, and what each one's input is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from netpact.algebra import OperatorNorm
from netpact.core.errors import PactError
from netpact.network import Layer, Network
from netpact.network.kinds import KINDS, Measured
from netpact.network.watching import watching


@dataclass(frozen=True, eq=False)
class WeightLayer:
    """One weight layer with what the definitions need of it.

    input_shape, output_shape  of one sample there
    follows  index of the weight layer its input is made of, the last one if there are several; None for none
    alone    its input is made of that layer's output alone, or of the network's input alone
    """

    layer: Layer
    part: nn.Module
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    follows: int | None
    alone: bool

    @property
    def index(self) -> int:
        return self.layer.index

    @property
    def name(self) -> str:
        return self.layer.name

    @property
    def kind(self) -> str:
        return self.layer.kind

    @property
    def units(self) -> int:
        """h_i"""
        return (1, *self.output_shape)[self._measured.axis]

    @property
    def places(self) -> int:
        """n1 * n2: a linear layer may be applied to every row of a matrix, which are its places then."""
        return math.prod(self.output_shape) // self.units

    @property
    def cover(self) -> int:
        """ceil(kappa / s)^2: how many windows see one pixel at most; 1 for a linear layer"""
        return self._measured.cover(self.part)

    @property
    def weight(self) -> Tensor:
        weight = self.part.weight
        assert isinstance(weight, Tensor)
        return weight.detach()

    @property
    def bias(self) -> Tensor | None:
        bias = getattr(self.part, "bias", None)
        return bias.detach() if isinstance(bias, Tensor) else None

    @property
    def copies_entries(self) -> bool:
        """Whether padding brings entries of the input back, which are then read through several weights."""
        return KINDS[self.kind].copies(self.part, self.input_shape) != 1

    def bound_norm(self) -> OperatorNorm:
        lower, upper = KINDS[self.kind].norm(self.part, self.input_shape)
        assert lower is not None
        assert upper is not None
        return OperatorNorm(lower, upper)

    def run(self, weight: Tensor, inputs: Tensor) -> Tensor:
        """The linear map with another weight in place of the layer's own."""
        return self._measured.run(self.part, weight, inputs)

    def subtract_bias(self, output: Tensor) -> Tensor:
        if self.bias is None:
            return output
        sides = [1] * output.dim()
        sides[self._measured.axis] = -1
        return output - self.bias.view(sides)

    @property
    def _measured(self) -> Measured:
        found = KINDS[self.kind].measured
        assert found is not None
        return found


@dataclass(frozen=True, eq=False)
class Structure:
    """layers in the order they run; logits is the index that stands for the network's output, a layer's or one more."""

    layers: tuple[WeightLayer, ...]
    logits: int

    @property
    def indices(self) -> tuple[int, ...]:
        return tuple(layer.index for layer in self.layers)

    def ends(self, start: int) -> tuple[int, ...]:
        """The j that a map from layer `start` can end at."""
        return tuple(j for j in (*self.indices, *({self.logits} - set(self.indices))) if j > start)


def find_structure(network: Network, inputs: Tensor) -> Structure:
    """The weight layers, with the shapes that these samples have there."""
    shapes: dict[int, tuple[torch.Size, torch.Size]] = {}

    def look(index: int, received: Tensor, output: Tensor) -> Tensor:
        shapes[index] = received.shape, output.shape
        return output

    with torch.no_grad(), watching(network, look):
        network.module(inputs)
    kinds = KINDS.measured()
    chosen = [layer for layer in network.layers if layer.kind in kinds]
    if not chosen:
        raise PactError(f"no weight layers to measure; they are {', '.join(kinds)}", where=network.name)
    parts, weighted = dict(network.module.named_modules()), {layer.index for layer in chosen}
    layers = []
    for layer in chosen:
        sources, (given, output) = _sources(network, layer.index, weighted), shapes[layer.index]
        follows, alone = max(sources) or None, len(sources) == 1
        layers.append(WeightLayer(layer, parts[layer.name], tuple(given[1:]), tuple(output[1:]), follows, alone))
    is_output = network.graph.output == chosen[-1].node
    return Structure(tuple(layers), chosen[-1].index if is_output else len(network.layers) + 1)


def _sources(network: Network, index: int, weighted: set[int]) -> set[int]:
    """The weight layers that a layer's input is made of, and 0 for the network's input; other layers are passed by."""
    found, waiting = set[int](), list(network.feeders(index))
    while waiting:
        source = waiting.pop()
        if source == 0 or source in weighted:
            found.add(source)
        else:
            waiting.extend(network.feeders(source))
    return found or {0}
