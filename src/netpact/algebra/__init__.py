"""Arrays in, numbers out: true operator norms of linear and convolution layers, from below and from above."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
