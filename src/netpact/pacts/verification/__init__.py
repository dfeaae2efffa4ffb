"""verify, and the verdict that it gives."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
