"""MagnitudePrune: the smallest weights are removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from netpact.algebra.pruning import magnitude_masks
from netpact.coding.format import Compressed
from netpact.core.checks import check_choice, check_flag, check_number
from netpact.core.progress import Progress
from netpact.methods.approximations import PrunedEntries, as_array, code_network
from netpact.methods.choices import PRUNED_BITS, settle_bits
from netpact.methods.grids import make_grid
from netpact.methods.method import METHODS
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples

GLOBAL, BY_LAYER = "global", "layer"
SCOPES = (GLOBAL, BY_LAYER)


@METHODS.add
@dataclass(frozen=True)
class MagnitudePrune:
    """The largest weights are kept, the others become 0; nothing is retrained.

    What is kept is written in a grid, in which it does not become 0; a weight that is 0 stays 0, so a network that was
    pruned before keeps its zeros. Biases and the numbers of batch norm are not pruned and take 8 bits.

    keep         the share that is kept; 1 writes a network that was pruned already
    scope        "global": the largest of all layers together; "layer": the same share of each
    grid         "uniform", "codebook" or "ternary": how the weights that are kept are written
    bits         for each of them before entropy coding: uniform 2 to 16 (default 6), codebook 1 to 8, ternary 2
    per_channel  a scale for each output channel
    """

    keep: float = 0.1
    scope: str = GLOBAL
    grid: str = "uniform"
    bits: int | None = None
    per_channel: bool = False
    name: ClassVar[str] = "magnitude-prune"

    def __post_init__(self) -> None:
        check_number(self.keep, where="keep", above=0, most=1)
        check_choice(self.scope, SCOPES, where="scope")
        check_flag(self.per_channel, where="per_channel")
        settle_bits(self, self.grid, self.bits, uniform=PRUNED_BITS)

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        grid = make_grid(self.grid, bits=self.bits, per_channel=self.per_channel)
        weights = {name: tensor for name, tensor in network.module.named_parameters() if tensor.dim() >= 2}
        arrays = [tensor.detach().numpy() for tensor in weights.values()]
        masks = magnitude_masks(arrays, keep=self.keep, together=self.scope == GLOBAL)
        pruned = {
            name: PrunedEntries(np.where(mask, as_array(tensor), 0.0))
            for (name, tensor), mask in zip(weights.items(), masks, strict=True)
        }
        return code_network(network, grid, pruned)
