"""What Theorem 2 counts: the entries of the weight layers, in the order in which they run."""

from __future__ import annotations

from netpact.bounds.facts import FACTS, Fact
from netpact.methods.approximations import as_array

FACTS.add(Fact("layer_weights", lambda facts: tuple(as_array(layer.weight.cpu()) for layer in facts.structure.layers)))
