"""One entropy-coded stream of binary decisions: written, read and measured through one description."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
