"""Heavy tails of a network's weights and of the eigenvalues of its layers, from the weights alone."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
