"""Two networks of one chain of linear layers, measured for the lemmas."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from netpact.algebra import matrix_norm
from netpact.core.errors import PactError
from netpact.datasets import Data
from netpact.measurements.streaming import norms_of
from netpact.measurements.structure import Structure, find_structure
from netpact.measurements.tensors.between import gains_between
from netpact.network import Network, stream_activations
from netpact.papers.guha.lemmas.stating import LemmaLayer
from netpact.papers.guha.moments import weight_variance
from netpact.papers.guha.pruned import weight_of

_BATCH = 512


def chain_of(network: Network, data: Data) -> Structure:
    """The lemmas are about x -> A_L phi(A_(L-1) ... phi(A_1 x)): linear layers, each fed by the one before it alone."""
    structure = find_structure(network, torch.from_numpy(next(iter(data.train.batches(2)))[0]))
    problem = ""
    if len(structure.layers) != len(network.layers) or any(layer.kind != "linear" for layer in structure.layers):
        problem = f"has layers that are not linear: {', '.join(layer.kind for layer in network.layers)}"
    elif not all(layer.alone and layer.places == 1 for layer in structure.layers):
        problem = "is no chain of layers"
    elif any(network.is_shared(layer.index) for layer in structure.layers):
        problem = "uses a matrix more than once"
    if problem:
        raise PactError(problem, where=network.name, hint="netpact.deviation_bound takes such networks")
    return structure


def measure_layers(
    structure: Structure, network: Network, first: nn.Module, other: nn.Module, shifts: Mapping[str, float]
) -> tuple[LemmaLayer, ...]:
    """first: pruned; other: rounded, too; shifts: how far the biases of each layer moved."""
    shapes = {layer.name: layer.output_shape for layer in structure.layers}
    gains = gains_between(network, shapes)
    found = []
    for layer in structure.layers:
        original = layer.weight.double()
        pruned, rounded = (weight_of(one, layer.name).double() for one in (first, other))
        if pruned.shape != original.shape:
            raise PactError(f"is of shape {tuple(pruned.shape)}, not {tuple(original.shape)}", where=layer.name)
        found.append(
            LemmaLayer(
                name=layer.name,
                rows=len(original),
                columns=original.shape[1],
                variance=weight_variance(layer.weight),
                norm=matrix_norm(original).upper,
                change=_norm(pruned - original),
                rounding=_norm(rounded - pruned),
                total=_norm(rounded - original),
                nonzeros=int(torch.count_nonzero(pruned)),
                lipschitz=gains[layer.name],
                shift=shifts[layer.name],
            )
        )
    return tuple(found)


def _norm(matrix: Tensor) -> float:
    return matrix_norm(matrix).upper if bool(matrix.any()) else 0.0


@torch.no_grad()
def run_both(network: Network, structure: Structure, data: Data, first: nn.Module) -> tuple[NDArray[np.float64], float]:
    """|h| before every layer for each sample, and the largest error of the network that is pruned and not rounded."""
    rows: list[list[Tensor]] = [[] for _ in structure.layers]
    for found in stream_activations(network, data.train, batch=_BATCH):
        for row, layer in zip(rows, structure.layers, strict=True):
            row.append(norms_of(found.inputs[layer.index]))
    both = [copy.deepcopy(one).double().eval() for one in (network.module, first)]
    worst = 0.0
    for inputs, _ in data.train.batches(_BATCH):
        one, two = (module(torch.from_numpy(inputs).double()) for module in both)
        worst = max(worst, float(norms_of(one - two).max()))
    return torch.stack([torch.cat(row) for row in rows]).numpy(), worst
