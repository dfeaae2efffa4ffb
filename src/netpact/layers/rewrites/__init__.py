"""Changes of a network's structure that a message can tell, one file each.

They stand among the layers, not beside trace: a decoder needs them and nothing else of what looks at networks.
"""

from collections.abc import Mapping
from types import MappingProxyType

from netpact.layers.rewrites.fold import Fold
from netpact.layers.rewrites.low_rank import LowRankLayer, can_factor
from netpact.layers.rewrites.remove_channels import RemoveChannels
from netpact.layers.rewrites.rewrite import Rewrite, Step, apply_steps, find_part, number_of, replace_part

# By code: append only, files depend on it. A code that is new needs a new decoder version.
REWRITES: Mapping[int, type[Rewrite]] = MappingProxyType(
    {rewrite.code: rewrite for rewrite in (LowRankLayer, Fold, RemoveChannels)}
)

__all__ = [
    "REWRITES",
    "Fold",
    "LowRankLayer",
    "RemoveChannels",
    "Rewrite",
    "Step",
    "apply_steps",
    "can_factor",
    "find_part",
    "number_of",
    "replace_part",
]
