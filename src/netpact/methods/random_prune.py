"""RandomPrune: small weights are removed at random (Guha et al. 2023, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from netpact.algebra.pruning import random_mask
from netpact.algebra.stream import MAX_SEED, Stream
from netpact.coding.format import Compressed
from netpact.core.checks import check_flag, check_integer, check_number
from netpact.core.progress import Progress
from netpact.methods.approximations import PrunedEntries, as_array, code_network
from netpact.methods.choices import PRUNED_BITS, importance_of, settle_bits
from netpact.methods.grids import make_grid
from netpact.methods.method import METHODS
from netpact.methods.size_knobs import SizeKnob
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples

_PURPOSE = "random-prune"


@METHODS.add
@dataclass(frozen=True)
class RandomPrune:
    """Each weight w becomes 0 with probability exp(-w^2 / (scale Psi)), Psi the variance of its layer's weights.

    What is kept is written in a grid, in which it does not become 0; a weight that is 0 stays 0. Biases and the numbers
    of batch norm are not pruned and take 8 bits. Which weights were kept is part of the message, the seed is not.

    scale          the d of the paper: of normal weights 1 - sqrt(d / (d + 2)) are kept on average, 8.7 % for 10
    keep_diagonal  the diagonal of each matrix is kept, as in the paper; a convolution is out x (in * taps)
    seed           of the draws
    grid           "uniform", "codebook" or "ternary": how the weights that are kept are written
    bits           for each of them before entropy coding: uniform 2 to 16 (default 6), codebook 1 to 8, ternary 2
    per_channel    a scale for each output channel
    rate           the price of a bit, in squared steps: see Quantize; a weight may then become 0 for what it would cost
    """

    scale: float = 10.0
    keep_diagonal: bool = True
    seed: int = 0
    grid: str = "uniform"
    bits: int | None = None
    per_channel: bool = False
    rate: float = 0.0
    name: ClassVar[str] = "random-prune"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("scale", (1.0, 3.0, 10.0, 30.0)),)

    def __post_init__(self) -> None:
        check_number(self.scale, where="scale", above=0)
        check_flag(self.keep_diagonal, where="keep_diagonal")
        check_integer(self.seed, where="seed", least=0, most=MAX_SEED)
        check_flag(self.per_channel, where="per_channel")
        settle_bits(self, self.grid, self.bits, uniform=PRUNED_BITS, rate=self.rate)

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        pruned, importance = {}, importance_of(network.module, samples, rate=self.rate)
        weights = {name: tensor for name, tensor in network.module.named_parameters() if tensor.dim() >= 2}
        for layer, (name, tensor) in enumerate(weights.items()):
            values = as_array(tensor)
            stream = Stream(self.seed, _PURPOSE, layer)
            mask = random_mask(values, scale=self.scale, stream=stream, keep_diagonal=self.keep_diagonal)
            pruned[name] = PrunedEntries(np.where(mask, values, 0.0), importance.get(name))
            if progress is not None:
                progress(layer + 1, len(weights))
        grid = make_grid(self.grid, bits=self.bits, per_channel=self.per_channel, rate=self.rate)
        return code_network(network, grid, pruned)
