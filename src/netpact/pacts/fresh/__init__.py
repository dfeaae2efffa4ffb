"""Statements on fresh samples, with 0 bits: how often a network errs, and how often two networks disagree."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
