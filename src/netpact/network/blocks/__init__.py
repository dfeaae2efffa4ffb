"""Blocks of convolutions: which there are, which are redundant, and how to rewrite them."""

from netpact.network.blocks.block import Block, Design
from netpact.network.blocks.collapsing import Collapse, Collapsed, collapse, explain_collapse
from netpact.network.blocks.finding import find_blocks

__all__ = ["Block", "Collapse", "Collapsed", "Design", "collapse", "explain_collapse", "find_blocks"]
