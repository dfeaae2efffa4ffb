"""The kinds of layers that may own parameters: one file each, which adds one record to the table."""

from netpact.network.kinds.kind import LayerDistance, LayerKind, LayerSize, Measured
from netpact.network.kinds.table import KINDS

__all__ = ["KINDS", "LayerDistance", "LayerKind", "LayerSize", "Measured"]
