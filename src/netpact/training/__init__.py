"""Training a classifier and testing it as it is."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
