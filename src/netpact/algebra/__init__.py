"""Arrays in, numbers out: operator norms of layers, from below and from above; decompositions of tensors."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
