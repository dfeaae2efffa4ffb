"""Blocks of convolutions: which there are, which are redundant, and how to rewrite them."""

from netpact.network.blocks.block import Block, Design, Ranks
from netpact.network.blocks.collapsing import Collapse, Collapsed, collapse, explain_collapse
from netpact.network.blocks.finding import find_blocks
from netpact.network.blocks.ranks import find_ranks
from netpact.network.blocks.straightening import Straightened, Straightening, explain_straighten, straighten

__all__ = [
    "Block",
    "Collapse",
    "Collapsed",
    "Design",
    "Ranks",
    "Straightened",
    "Straightening",
    "collapse",
    "explain_collapse",
    "explain_straighten",
    "find_blocks",
    "find_ranks",
    "straighten",
]
