"""What can be measured on a trained network: passes over samples and weights, and the table of quantities."""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
