"""The effective parameters of Arora et al. 2018 of a network with CP layers, for Figure 2a and Table 4."""

from __future__ import annotations

from netpact.bounds import EstimateOptions, estimate_bounds
from netpact.core.json import finite
from netpact.core.seed import Seed
from netpact.datasets import Data
from netpact.measurements import MeasureOptions, measure
from netpact.network import Network
from netpact.papers.li.lemmas.projecting import compose

_ARORA = "arora-figure-2"
# What its effective parameters are made of, and nothing that takes longer.
_READ = (
    *("frobenius", "activation_contraction", "well_distributed"),
    *("arora_layer_cushion", "min_interlayer_cushion"),
)


def count_arora(network: Network, data: Data, jacobians: int, seed: Seed) -> dict[str, float | None]:
    """log10 for each layer, None where infinite; cushions as printed, at some of the samples, as in arora-table1.

    Of the network with composed layers, batch norm folded.
    """
    composed = compose(network.module)
    measures = measure(composed, data, MeasureOptions(samples=jacobians, only=_READ, seed=seed.child("measure")))
    found = estimate_bounds(composed, data, EstimateOptions(cushions="plain"), only=[_ARORA], measures=measures)
    return {layer.name: finite(layer.log10_effective) for layer in found[_ARORA].layers}
