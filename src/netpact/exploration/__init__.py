"""search: the file with the lowest certified bound within a time budget, and the ledger of everything tried."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
