"""The weight layers of a network as sums of rank-one tensors, and what samples say about them (Li et al. 2020)."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
