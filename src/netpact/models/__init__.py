"""Architectures by append-only id, building and initialising them, weight files."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
