"""compress_to: the setting of a method that reaches a target of bytes, of accuracy or of the bound."""

from netpact.methods.targets.reaching import compress_to
from netpact.methods.targets.records import Reached, Target, Tried, UnreachedError

__all__ = ["Reached", "Target", "Tried", "UnreachedError", "compress_to"]
