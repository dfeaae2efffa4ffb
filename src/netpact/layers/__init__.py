"""Layers of our own, beside those of torch."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
