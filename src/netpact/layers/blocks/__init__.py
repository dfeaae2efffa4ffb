"""Blocks of convolutions that stand for one, with their rank R and their number of output channels K."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
