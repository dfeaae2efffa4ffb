"""A trained nn.Module as the theory sees it."""

from netpact.network.counting import ErrorCount, ToleranceRun, count_errors, refuse_bad_logits
from netpact.network.trace import LAYER_KINDS, Layer, Network, trace

__all__ = [
    "LAYER_KINDS",
    "ErrorCount",
    "Layer",
    "Network",
    "ToleranceRun",
    "count_errors",
    "refuse_bad_logits",
    "trace",
]
