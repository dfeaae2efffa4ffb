"""What a coded weight is: symbols <-> weights and the exact code length."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
