"""Changes of a network's structure that a message can tell, one file each.

They stand among the layers, not beside trace: a decoder needs them and nothing else of what looks at networks.
"""

from netpact.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
