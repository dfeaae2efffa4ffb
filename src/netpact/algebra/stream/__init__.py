"""Helper randomness: integers that sender and receiver regenerate alike, on every machine and for ever."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
