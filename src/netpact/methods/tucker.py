"""Tucker: convolutions as a small core between two 1x1 convolutions (Kim et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from torch import nn

from netpact.algebra.singular_values import decompose
from netpact.coding.format import Compressed
from netpact.core.checks import check_number
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.layers.ranks import tucker_ranks_for_share
from netpact.methods.approximations import as_array, code_network
from netpact.methods.choices import settle_bits, take_one
from netpact.methods.factoring import factor_matrix
from netpact.methods.grids import Grid, make_grid
from netpact.methods.layer_ranks import LayerRanks, Rank, by_layer, dense_candidates, pick_layers
from netpact.methods.method import METHODS
from netpact.methods.replacing import Replacement, replace_layers
from netpact.methods.size_knobs import SizeKnob
from netpact.methods.tucker_cores import fitting_ranks, put_core, ranks_within_error
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples

_DEFAULT_SHARE = 0.5
_WAYS = ("ranks", "share", "error")


@METHODS.add
@dataclass(frozen=True)
class Tucker:
    """Convolutions as a small core between two 1x1 convolutions, linear layers as two: run so when decoded.

    Give one of the first three (default: share 0.5). Without `ranks` a last linear layer, 1x1 convolutions and
    convolutions of one channel stay. A layer that would take as many numbers, or bits, as it does rounded entry by
    entry (`Quantize`) stays as it is. Biases take 8 bits.

    ranks   by layer name, of these layers only: {"conv2": (16, 8), "fc1": 8}, outputs and inputs of a convolution's
            core, or "conv2:16x8,fc1:8"
    share   of each layer's numbers that its factors have at most; both ranks are the same share of the channels
    error   the ranks that are proven to keep each layer's weight within this relative error
    bits    for each number of the factors before entropy coding: uniform 2 to 16 (default 8), codebook 1 to 8
    grid    "uniform", "codebook" or "ternary": how these numbers are written
    """

    ranks: LayerRanks = None
    share: float | None = None
    error: float | None = None
    bits: int | None = None
    grid: str = "uniform"
    name: ClassVar[str] = "tucker"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("share", (0.5, 0.3, 0.15), {"bits": 6}),)

    def __post_init__(self) -> None:
        take_one(self, _WAYS, default=("share", _DEFAULT_SHARE))
        object.__setattr__(self, "ranks", by_layer(self.ranks, most_sides=2))
        for name in ("share", "error"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), where=name, above=0, most=1)
        settle_bits(self, self.grid, self.bits)

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        grid = make_grid(self.grid, bits=self.bits)
        plain = code_network(network, grid).tensors
        found: dict[str, Replacement] = {}
        named = by_layer(self.ranks, most_sides=2)
        layers = pick_layers(dense_candidates(network), named)
        for done, (name, layer) in enumerate(layers.items(), start=1):
            rank = dict(named)[name] if named is not None else None
            own = self._core(name, layer, rank, grid) if isinstance(layer, nn.Conv2d) else self._pair(layer, rank, grid)
            found |= {} if own is None else {name: own}
            if progress is not None:
                progress(done, len(layers))
        return replace_layers(network, plain, found, plain)

    def _core(self, name: str, layer: nn.Conv2d, rank: Rank | None, grid: Grid) -> Replacement | None:
        if isinstance(rank, int):
            raise PactError(
                f"a convolution's core has two ranks, got {rank} for {name}", where="ranks", hint=f'"{name}": (16, 8)'
            )
        if rank is not None:
            ranks = fitting_ranks(layer, (rank[0], rank[1]))
        elif self.error is not None:
            ranks = ranks_within_error(layer, self.error)
        else:
            assert self.share is not None
            ranks = tucker_ranks_for_share(layer, self.share)
        return put_core(layer, ranks, grid)

    def _pair(self, layer: nn.Linear, rank: Rank | None, grid: Grid) -> Replacement | None:
        if isinstance(rank, tuple):
            raise PactError(f"a linear layer has one rank, got {rank}", where="ranks", hint="give one integer")
        values = as_array(layer.weight)
        singular = decompose(values)
        if self.error is not None:
            kept = singular.rank_for_energy(1 - self.error**2)
        elif rank is not None:
            kept = rank
        else:
            assert self.share is not None
            kept = max(1, int(self.share * values.size / sum(values.shape)))
        pair = factor_matrix(singular.truncate(kept), values.shape, grid)
        return None if pair is None else pair.replacement
