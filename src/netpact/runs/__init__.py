"""Keyed tasks, a result store that survives kills, and the engines that run the tasks."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
