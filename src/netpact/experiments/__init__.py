"""What runs the experiments of papers: networks trained as keyed tasks, rules stated beforehand, findings, a page."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
