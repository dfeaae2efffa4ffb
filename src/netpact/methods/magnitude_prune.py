"""MagnitudePrune: the smallest weights are removed, or the filters of the smallest norm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from torch import nn

from netpact.algebra.pruning import Mask, magnitude_masks
from netpact.coding.format import Compressed
from netpact.core.checks import check_choice, check_flag, check_number
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.methods.approximations import PrunedEntries, as_array, code_network
from netpact.methods.choices import PRUNED_BITS, importance_of, settle_bits
from netpact.methods.filter_choice import BY_LAYER, GLOBAL, NORMS, SCOPES, FilterChoice
from netpact.methods.filter_removal import choose_units
from netpact.methods.fitting import Array
from netpact.methods.grids import make_grid
from netpact.methods.method import METHODS
from netpact.methods.size_knobs import SizeKnob
from netpact.network import Network
from netpact.network.narrowing import narrow

if TYPE_CHECKING:
    from netpact.datasets import Samples

WEIGHTS, FILTERS = "weights", "filters"
UNITS = (WEIGHTS, FILTERS)
_DEFAULT_KEEP = 0.1


@METHODS.add
@dataclass(frozen=True)
class MagnitudePrune:
    """The largest weights are kept, the others become 0; or whole filters are removed. Nothing is retrained.

    Weights: what is kept is written in a grid, in which it does not become 0; a weight that is 0 stays 0, so a network
    that was pruned before keeps its zeros. Biases and the numbers of batch norm are not pruned and take 8 bits.
    Filters: the file decodes to a narrower network, in which the outputs of linear layers and convolutions with the
    smallest norms are gone, with their biases, their batch norm, and the weights that read them. Outputs that are added
    to each other go together; the logits stay, and so do grouped convolutions and layers in factored form.

    keep         the share that is kept, by default 0.1 of the weights or 0.5 of the filters that can be removed; with 1
                 a network that was pruned already is written
    unit         "weights" or "filters"
    scope        "global": those of all layers are compared, the default for weights; "layer": the same share of each
    flops        filters: instead of keep, the share of floating-point operations that is left at most
    norm         filters: "l1" (default) or "l2", divided by that of a filter of ones
    multiple     filters: how many are left in each layer is a multiple of it
    grid         "uniform", "codebook" or "ternary": how the weights that are kept are written
    bits         for each of them before entropy coding: uniform 2 to 16 (default 6), codebook 1 to 8, ternary 2
    per_channel  a scale for each output channel
    rate         the price of a bit, in squared steps: see Quantize; a weight may then become 0 for what it would cost
    """

    keep: float | None = None
    unit: str = WEIGHTS
    scope: str | None = None
    flops: float | None = None
    norm: str | None = None
    multiple: int | None = None
    grid: str = "uniform"
    bits: int | None = None
    per_channel: bool = False
    rate: float = 0.0
    name: ClassVar[str] = "magnitude-prune"
    knobs: ClassVar[tuple[SizeKnob, ...]] = (
        SizeKnob("keep", (0.5, 0.3, 0.2, 0.1, 0.05, 0.02)),
        SizeKnob("keep", (0.9, 0.75, 0.5, 0.25), {"unit": FILTERS}),
    )

    def __post_init__(self) -> None:
        check_choice(self.unit, UNITS, where="unit")
        check_flag(self.per_channel, where="per_channel")
        settle_bits(self, self.grid, self.bits, uniform=PRUNED_BITS, rate=self.rate)
        if self.unit == FILTERS:
            choice = self._choice()
            settled = {"keep": choice.keep, "scope": choice.scope, "norm": choice.norm, "multiple": choice.multiple}
        else:
            for name in ("flops", "norm", "multiple"):
                if getattr(self, name) is not None:
                    raise PactError('is an option of unit="filters"', where=name, hint='give unit="filters" too')
            settled = {
                "keep": _DEFAULT_KEEP if self.keep is None else check_number(self.keep, where="keep", above=0, most=1),
                "scope": check_choice(GLOBAL if self.scope is None else self.scope, SCOPES, where="scope"),
            }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def _choice(self) -> FilterChoice:
        multiple = 1 if self.multiple is None else self.multiple
        return FilterChoice(self.keep, self.flops, self.scope or BY_LAYER, self.norm or NORMS[0], multiple)

    def compress(
        self, network: Network, samples: Samples | None = None, progress: Progress | None = None
    ) -> Compressed:
        grid = make_grid(self.grid, bits=self.bits, per_channel=self.per_channel, rate=self.rate)
        if self.unit == FILTERS:
            channels, kept = choose_units(network.module, self._choice(), network.architecture.input_shape)
            module, steps = narrow(network.module, channels, kept)
            pruned = _pruned(module, None, importance_of(module, samples, rate=self.rate))
            return replace(code_network(replace(network, module=module), grid, pruned), rewrites=steps)
        weights = _weights(network.module)
        arrays = [tensor.detach().numpy() for tensor in weights.values()]
        assert self.keep is not None
        masks = magnitude_masks(arrays, keep=self.keep, together=self.scope == GLOBAL)
        importance = importance_of(network.module, samples, rate=self.rate)
        return code_network(network, grid, _pruned(network.module, masks, importance))


def _weights(module: nn.Module) -> dict[str, nn.Parameter]:
    return {name: tensor for name, tensor in module.named_parameters() if tensor.dim() >= 2}


def _pruned(
    module: nn.Module, masks: Sequence[Mask] | None, importance: Mapping[str, Array]
) -> dict[str, PrunedEntries]:
    """Every weight tensor; without masks those zeros stay that are there."""
    weights = {name: as_array(tensor) for name, tensor in _weights(module).items()}
    if masks is not None:
        pairs = zip(weights.items(), masks, strict=True)
        weights = {name: np.where(mask, values, 0.0) for (name, values), mask in pairs}
    return {name: PrunedEntries(values, importance.get(name)) for name, values in weights.items()}
