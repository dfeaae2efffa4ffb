"""The .pact file and the message inside it."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
