"""Convolutions in Tucker form: ranks from an error, and factors in any grid."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from netpact.algebra import tucker_decompose
from netpact.layers import TuckerConv2d
from netpact.layers.rewrites import TuckerLayer
from netpact.methods.approximations import as_array
from netpact.methods.chain_rounding import Coded, best_coded, chain_weights
from netpact.methods.fitting import Array
from netpact.methods.grids import Grid, PerChannel
from netpact.methods.replacing import Replacement

Ranks = tuple[int, int]
_SMALLEST = 2.0**-20


def ranks_within_error(layer: nn.Conv2d, error: float) -> Ranks:
    """The ranks (out, in) at which the truncated HOSVD is proven to have at most this relative error.

    Its squared error is at most the sum over both unfoldings of what is cut off from each (De Lathauwer et al. 2000,
    Property 10): half of error^2 is allowed for each. Higher-order orthogonal iteration only lowers it.
    """
    kernel = layer.weight.detach().double()
    unfoldings = kernel.flatten(1), kernel.transpose(0, 1).flatten(1)
    outputs, inputs = (_rank_within(torch.linalg.svdvals(matrix), error**2 / 2) for matrix in unfoldings)
    return fitting_ranks(layer, (outputs, inputs))


def fitting_ranks(layer: nn.Conv2d, ranks: Ranks) -> Ranks:
    """At most those that the kernel has: none above the channels, or above the taps times the other."""
    taps = math.prod(layer.kernel_size)
    outputs, inputs = min(ranks[0], layer.out_channels), min(ranks[1], layer.in_channels)
    return min(outputs, inputs * taps), min(inputs, outputs * taps)


def _rank_within(values: Tensor, share: float) -> int:
    """The smallest rank, from 1, that cuts off at most this share of the sum of squares."""
    squares = values.square()
    cut = squares.flip(0).cumsum(0).flip(0)
    return max(1, int(torch.count_nonzero(cut > share * squares.sum())))


def put_core(layer: nn.Conv2d, ranks: Ranks, grid: Grid) -> Replacement | None:
    """The layer in Tucker form; None for one of zeros."""
    taps = min(math.prod(layer.kernel_size), ranks[0] * ranks[1])
    if not layer.weight.any() or _numbers(layer, ranks) >= layer.weight.numel():
        return None
    shell = TuckerConv2d.like(layer, ranks).double()
    shell.set_components(tucker_decompose(layer.weight.detach().double().flatten(2), (*ranks, taps)))
    weights = {name: as_array(tensor) for name, tensor in chain_weights(shell).items()}
    made = [{name: grid.round(values) for name, values in weights.items()}, _steps_by_core(weights, grid)]
    coded = best_coded(made, shell, layer.weight.detach())
    return Replacement(TuckerLayer(*ranks), coded, bias="pointwise_out.bias", added=len(shell))


def _numbers(layer: nn.Conv2d, ranks: Ranks) -> int:
    wide, narrow = ranks
    return wide * layer.out_channels + narrow * layer.in_channels + wide * narrow * math.prod(layer.kernel_size)


def _steps_by_core(weights: dict[str, Array], grid: Grid) -> Coded:
    """Every rounding moves the kernel by as much: a vector's step is one over the norm of the core's slice at it."""
    core = weights["core.weight"]
    wide, narrow = (np.sqrt(np.square(core).sum(axis=axes)) for axes in ((1, 2, 3), (0, 2, 3)))
    sizes = {"pointwise_out.weight": wide, "pointwise_in.weight": narrow}
    coded = {"core.weight": grid.round(core)}
    for name, norms in sizes.items():
        # What the core has nothing of may be rounded to 0.
        steps = norms.max() / np.maximum(norms, norms.max() * _SMALLEST)
        columns = PerChannel(grid, columns=name.startswith("pointwise_out"))
        [coded[name]] = columns.round_scaled([weights[name]], [steps])
    return {name: coded[name] for name in weights}
