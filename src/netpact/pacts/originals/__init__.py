"""The network before compression: how often it disagrees with the one in the file, and what follows for its risk."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
