"""Certificates: the proven bound on a decoded network's risk, and the record that states it. No torch here."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
