"""Rounding what each layer has learned beyond a base network, on calibration inputs."""

from __future__ import annotations

import copy
from dataclasses import replace

from netpact.coding.format import Compressed
from netpact.core.progress import Progress
from netpact.datasets import Samples
from netpact.methods.approximations import as_array, beyond_base
from netpact.methods.base_tensors import code_by_base, refuse_foreign_base
from netpact.methods.calibrated.options import Calibrated
from netpact.methods.calibrated.rounding import Rounding, calibration_inputs, find_layers, round_layers
from netpact.methods.grids import Grid
from netpact.network import Network
from netpact.network.probing import PROBE
from netpact.pacts.priors import Base


def round_differences(
    network: Network, base: Base, grid: Grid, options: Calibrated, samples: Samples, progress: Progress | None
) -> Compressed:
    """As round_on_inputs, for every layer whose weight is not the base's; one that the base lacks is told by itself.

    Batch norm is not folded: the base's tensors are those of the network as it is.
    """
    refuse_foreign_base(network, base)
    module = copy.deepcopy(network.module).float().eval()
    inputs = calibration_inputs(module, samples, options.inputs)
    layers = find_layers(module, inputs[:PROBE])
    ground = {
        name: base.tensor(_weight_of(name), tuple(layer.weight.shape))
        for name, layer in layers.items()
        if base.has(_weight_of(name), tuple(layer.weight.shape))
    }
    changed = {
        name: layer
        for name, layer in layers.items()
        if name not in ground or (as_array(layer.weight) != ground[name]).any()
    }
    found = round_layers(module, changed, inputs, Rounding(options, {}, 0.0, ground), progress)
    coded = {_weight_of(name): beyond_base(tensor) if name in ground else tensor for name, tensor in found.items()}
    return code_by_base(replace(network, module=module), base, coded, grid)


def _weight_of(layer: str) -> str:
    return f"{layer}.weight".lstrip(".")
