"""Layers of our own, beside those of torch."""

from netpact.layers.oriented import OrientedEdges, count_features, orient

__all__ = ["OrientedEdges", "count_features", "orient"]
