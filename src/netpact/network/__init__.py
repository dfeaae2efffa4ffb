"""A trained nn.Module as the theory sees it."""

from netpact.network.counting import ErrorCount, ToleranceRun, count_errors, refuse_bad_logits
from netpact.network.partial_maps import PartialMap
from netpact.network.trace import LAYER_KINDS, Layer, Network, UnsupportedNetworkError, trace
from netpact.network.watching import Activations, stream_activations

__all__ = [
    "LAYER_KINDS",
    "Activations",
    "ErrorCount",
    "Layer",
    "Network",
    "PartialMap",
    "ToleranceRun",
    "UnsupportedNetworkError",
    "count_errors",
    "refuse_bad_logits",
    "stream_activations",
    "trace",
]
