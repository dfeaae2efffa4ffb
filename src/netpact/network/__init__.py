"""A trained nn.Module as the theory sees it."""

from netpact.network.folding import fold_batch_norm
from netpact.network.graph import Graph, Node
from netpact.network.kinds import LAYER_KINDS, LayerSize
from netpact.network.margins import Margins, measure_margins
from netpact.network.partial_maps import PartialMap
from netpact.network.refusals.unsupported import UnsupportedNetworkError
from netpact.network.rounding.counting import ErrorCount, ToleranceRun, count_errors, refuse_bad_logits
from netpact.network.trace import Layer, Network, trace
from netpact.network.watching import Activations, stream_activations

__all__ = [
    "LAYER_KINDS",
    "Activations",
    "ErrorCount",
    "Graph",
    "Layer",
    "LayerSize",
    "Margins",
    "Network",
    "Node",
    "PartialMap",
    "ToleranceRun",
    "UnsupportedNetworkError",
    "count_errors",
    "fold_batch_norm",
    "measure_margins",
    "refuse_bad_logits",
    "stream_activations",
    "trace",
]
