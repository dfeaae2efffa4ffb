"""Estimates: published bounds up to what they ignore, and norm-based baselines. Nothing here is proven."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
