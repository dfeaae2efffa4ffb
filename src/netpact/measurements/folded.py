"""Batch norm is no layer of the theory: the network is measured with it folded into its neighbours."""

from __future__ import annotations

from torch import nn

from netpact.datasets import Data
from netpact.network import Network, fold_batch_norm, trace


def fold_for_measuring(model: nn.Module | Network, data: Data) -> tuple[Network, bool]:
    """The network without batch norm, and whether there was any. What cannot be folded is refused by name."""
    network = model if isinstance(model, Network) else trace(model, data)
    network.check_fits(data)
    if all(layer.kind != "batch_norm" for layer in network.layers):
        return network, False
    return trace(fold_batch_norm(network.module, data), data), True
