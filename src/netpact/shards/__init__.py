"""Parts of a set of samples, gone through by one process or by many, with the same result."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
