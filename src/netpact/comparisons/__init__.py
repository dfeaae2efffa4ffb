"""compare: every compression method on one network, at several sizes; which of them suits it, and what is proven."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
