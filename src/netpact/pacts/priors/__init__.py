"""What was there before the certified samples were looked at: base networks, and helpers trained on other samples."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
