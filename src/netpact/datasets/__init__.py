"""Data sets by name, the user's own data, splits and fingerprints. Neither torch nor scikit-learn is imported here."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
