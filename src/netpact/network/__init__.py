"""A trained nn.Module as the theory sees it."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
