"""CP: layers as sums of rank-one tensors, pruned to the largest of them (Li et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from torch import nn

from netpact.algebra import CPDecomposition
from netpact.coding.format import Compressed
from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.layers import CPConv2d, CPLinear
from netpact.layers.rewrites import CPLayer
from netpact.layers.rewrites.cp_layer import is_cp, resized_cp
from netpact.methods.approximations import code_network
from netpact.methods.cp_components import Layer, above_threshold, rank_within, take_components, within_error
from netpact.methods.cp_rounding import round_components
from netpact.methods.grids import Grid, default_bits, make_grid
from netpact.methods.layer_ranks import LayerRanks, by_layer, dense_candidates, pick_layers
from netpact.methods.method import METHODS
from netpact.methods.replacing import Replacement, own_layers, replace_layers
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples

_DEFAULT_SHARE = 0.5
_BITS = 8
_WAYS = ("rank", "ranks", "share", "threshold", "error")


@METHODS.add
@dataclass(frozen=True)
class CP:
    """Weights as sums of rank-one tensors, which the decoded network runs as chains of small layers.

    Give one of the first five (default: share 0.5). Linear layers and convolutions without groups are decomposed by
    alternating least squares; a last linear layer, 1x1 convolutions and convolutions of one channel only if `ranks`
    names them. Layers in CP form keep their largest components. A layer that would take as many numbers, or bits, as
    it does rounded entry by entry (`Quantize`) stays as it is. Biases take 8 bits.

    rank       components of each layer, at most
    ranks      the same by layer name, of these layers only: {"conv2": 16}, or "conv2:16,fc1:8"
    share      of each layer's numbers that its factors have at most
    threshold  components below this share of the layer's largest are dropped; of a dense layer after a decomposition
               of as many numbers as it has. Nothing is trained or fitted again (Table 5)
    error      the fewest components with at most this error, relative to each layer's weight
    bits       for each number of the factors before entropy coding: uniform 2 to 16 (default 8), codebook 1 to 8
    grid       "uniform", "codebook" or "ternary": how these numbers are written
    """

    rank: int | None = None
    ranks: LayerRanks = None
    share: float | None = None
    threshold: float | None = None
    error: float | None = None
    bits: int | None = None
    grid: str = "uniform"
    name: ClassVar[str] = "cp"

    def __post_init__(self) -> None:
        given = [name for name in _WAYS if getattr(self, name) is not None]
        if len(given) > 1:
            raise PactError(f"one of {', '.join(_WAYS)} is allowed, got {', '.join(given)}", where=given[-1])
        if not given:
            object.__setattr__(self, "share", _DEFAULT_SHARE)
        if self.rank is not None:
            check_integer(self.rank, where="rank", least=1)
        object.__setattr__(self, "ranks", by_layer(self.ranks))
        for name in ("share", "threshold", "error"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), where=name, above=0, most=1)
        make_grid(self.grid, bits=self.bits)
        if self.bits is None:
            object.__setattr__(self, "bits", default_bits(self.grid, uniform=_BITS))

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        grid = make_grid(self.grid, bits=self.bits)
        plain = code_network(network, grid).tensors
        found: dict[str, Replacement] = {}
        layers = pick_layers(cp_candidates(network), by_layer(self.ranks))
        for done, (name, layer) in enumerate(layers.items(), start=1):
            components = self._components(name, layer)
            if components is not None and components.rank:
                found[name] = put_components(layer, components, grid)
            if progress is not None:
                progress(done, len(layers))
        return replace_layers(network, plain, found, plain)

    def _components(self, name: str, layer: Layer) -> CPDecomposition | None:
        """None where the factors would have as many numbers as the weight."""
        if self.threshold is not None:
            return above_threshold(layer, self.threshold)
        if self.error is not None:
            return within_error(layer, self.error)
        if self.share is not None:
            return take_components(layer, rank_within(layer, self.share))
        rank = self.rank if self.ranks is None else dict(by_layer(self.ranks) or ())[name]
        assert isinstance(rank, int)
        return take_components(layer, rank)


def cp_candidates(network: Network) -> dict[str, Layer]:
    """Layers that can get a CP form, and those that have one, in the network's order."""
    own, dense = own_layers(network), dense_candidates(network)
    found = {name: dense.get(name, part) for name, part in own.items() if name in dense or is_cp(part)}
    return cast("dict[str, Layer]", found)


def put_components(layer: Layer, found: CPDecomposition, grid: Grid) -> Replacement:
    """The layer in CP form with these components; a CP layer that keeps all of them stays the layer it is."""
    if isinstance(layer, (CPConv2d, CPLinear)):
        shell, rewrite = resized_cp(layer, found.rank), CPLayer(found.rank, 0, 0)
        weights = round_components(found, shell, layer.exact_weight(), grid)
        return Replacement(rewrite if found.rank < layer.rank else None, weights, _bias_of(shell), added=0)
    if isinstance(layer, nn.Conv2d):
        shell, rewrite = CPConv2d.like(layer, found.rank), CPLayer(found.rank, 0, 0)
    else:
        shell = CPLinear.like(layer, found.rank)
        rewrite = CPLayer(found.rank, shell.in_shape[0], shell.out_shape[0])
    weights = round_components(found, shell, layer.weight.detach(), grid)
    return Replacement(rewrite, weights, _bias_of(shell), added=len(shell))


def _bias_of(shell: CPConv2d | CPLinear) -> str:
    return "pointwise_out.bias" if isinstance(shell, CPConv2d) else "shift.bias"
