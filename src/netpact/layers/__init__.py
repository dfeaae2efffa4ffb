"""Layers of our own, beside those of torch."""

from netpact.layers.affine import ChannelAffine
from netpact.layers.oriented import OrientedEdges, count_features, orient
from netpact.layers.skips import DenseStep, Residual, ZeroPaddedShortcut

__all__ = [
    "ChannelAffine",
    "DenseStep",
    "OrientedEdges",
    "Residual",
    "ZeroPaddedShortcut",
    "count_features",
    "orient",
]
