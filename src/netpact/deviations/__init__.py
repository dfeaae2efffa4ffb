"""How far apart two networks of one structure can be, sample by sample: proven, without probability."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
