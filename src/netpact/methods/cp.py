"""CP: layers as sums of rank-one tensors, pruned to the largest of them (Li et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from torch import nn

from netpact.algebra import CPDecomposition
from netpact.coding.format import Compressed
from netpact.coding.forms import CodedTensor
from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.layers import CPConv2d, CPLinear
from netpact.layers.rewrites import CPLayer
from netpact.layers.rewrites.cp_layer import is_cp, resized_cp
from netpact.measurements import TensorProperties
from netpact.methods.approximations import code_network
from netpact.methods.choices import settle_bits, take_one
from netpact.methods.cp_components import Layer, above_threshold, rank_within, take_components, within_error
from netpact.methods.cp_margin import MarginChoice, choose_for_margin, measure_for_margin
from netpact.methods.cp_rounding import round_components
from netpact.methods.grids import Grid, make_grid
from netpact.methods.layer_ranks import LayerRanks, by_layer, dense_candidates, pick_layers
from netpact.methods.method import METHODS
from netpact.methods.ranks_from_margin import MarginRanks
from netpact.methods.replacing import Replacement, is_smaller, own_layers, replace_layers
from netpact.methods.size_knobs import SizeKnob
from netpact.network import Network

if TYPE_CHECKING:
    from netpact.datasets import Samples

_DEFAULT_SHARE = 0.5
_WAYS = ("rank", "ranks", "share", "threshold", "error", "margin")


@METHODS.add
@dataclass(frozen=True)
class CP:
    """Weights as sums of rank-one tensors, which the decoded network runs as chains of small layers.

    Give one of the first six (default: share 0.5). Linear layers and convolutions without groups are decomposed by
    alternating least squares; a last linear layer, 1x1 convolutions and convolutions of one channel only if `ranks`
    names them. Layers in CP form keep their largest components. A layer that would take as many numbers, or bits, as
    it does rounded entry by entry (`Quantize`) stays as it is. Biases take 8 bits.

    rank       components of each layer, at most
    ranks      the same by layer name, of these layers only: {"conv2": 16}, or "conv2:16,fc1:8"
    share      of each layer's numbers that its factors have at most
    threshold  components below this share of the layer's largest are dropped; of a dense layer after a decomposition
               of as many numbers as it has. Nothing is trained or fitted again (Table 5)
    error      the fewest components with at most this error, relative to each layer's weight
    margin     the ranks for which no decision of a larger margin changes (Algorithms 1 to 6), but for rounding; from
               samples. Linear layers are cut by their singular values. Networks of several layers keep nearly all
    bits       for each number of the factors before entropy coding: uniform 2 to 16 (default 8), codebook 1 to 8
    grid       "uniform", "codebook" or "ternary": how these numbers are written
    """

    rank: int | None = None
    ranks: LayerRanks = None
    share: float | None = None
    threshold: float | None = None
    error: float | None = None
    margin: float | None = None
    bits: int | None = None
    grid: str = "uniform"
    name: ClassVar[str] = "cp"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (SizeKnob("share", (0.5, 0.3, 0.15), {"bits": 6}),)

    def __post_init__(self) -> None:
        take_one(self, _WAYS, default=("share", _DEFAULT_SHARE))
        if self.rank is not None:
            check_integer(self.rank, where="rank", least=1)
        object.__setattr__(self, "ranks", by_layer(self.ranks))
        for name in ("share", "threshold", "error"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), where=name, above=0, most=1)
        if self.margin is not None:
            check_number(self.margin, where="margin", above=0)
        settle_bits(self, self.grid, self.bits)

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        grid = make_grid(self.grid, bits=self.bits)
        plain = code_network(network, grid).tensors
        if self.margin is not None:
            properties = measure_for_margin(network, samples, progress)
            chosen = self._choose(network, properties, grid, plain)
            return replace_layers(network, plain, chosen.found, plain)
        found: dict[str, Replacement] = {}
        layers = pick_layers(cp_candidates(network), by_layer(self.ranks))
        for done, (name, layer) in enumerate(layers.items(), start=1):
            components = self._components(name, layer)
            if components is not None and components.rank:
                found[name] = put_components(layer, components, grid)
            if progress is not None:
                progress(done, len(layers))
        return replace_layers(network, plain, found, plain)

    def choose_ranks(self, network: Network, samples: Samples, progress: Progress | None = None) -> MarginRanks:
        """What `margin` makes of each layer."""
        if self.margin is None:
            raise PactError("only a margin chooses ranks by samples", where="margin", hint="give CP(margin=...)")
        grid = make_grid(self.grid, bits=self.bits)
        properties = measure_for_margin(network, samples, progress)
        return self._choose(network, properties, grid, code_network(network, grid).tensors).ranks

    def _choose(
        self, network: Network, properties: TensorProperties, grid: Grid, plain: Mapping[str, CodedTensor]
    ) -> MarginChoice:
        assert self.margin is not None
        layers = cp_candidates(network)

        def put(name: str, components: CPDecomposition) -> Replacement | None:
            own, prefix = put_components(layers[name], components, grid), f"{name}." if name else ""
            weights = [key for key, tensor in layers[name].named_parameters() if tensor.dim() >= 2]
            return own if is_smaller(own, [plain[f"{prefix}{key}"] for key in weights]) else None

        return choose_for_margin(properties, self.margin, layers, put)

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
        shell = CPLinear.like(layer, found.rank, in_shape=found.shape[2:], out_shape=found.shape[:2])
        rewrite = CPLayer(found.rank, shell.in_shape[0], shell.out_shape[0])
    weights = round_components(found, shell, layer.weight.detach(), grid)
    return Replacement(rewrite, weights, _bias_of(shell), added=len(shell))


def _bias_of(shell: CPConv2d | CPLinear) -> str:
    return "pointwise_out.bias" if isinstance(shell, CPConv2d) else "shift.bias"
