"""What the bounds of the paper are computed from: sizes, norms and variances of the matrices."""

from __future__ import annotations

import math

from netpact.bounds.facts import FACTS, Fact, Facts
from netpact.papers.guha.moments import kurtosis, weight_variance
from netpact.papers.guha.theory import TheoryLayer


def _layers(facts: Facts) -> tuple[TheoryLayer, ...]:
    found = []
    for layer, norms in zip(facts.structure.layers, facts.norms, strict=True):
        weight = layer.weight.flatten(1)
        found.append(
            TheoryLayer(
                name=layer.name,
                rows=len(weight),
                columns=weight.shape[1],
                variance=weight_variance(weight),
                norm=norms.spectral,
                kurtosis=kurtosis(weight),
                largest=float(weight.abs().max()),
            )
        )
    return tuple(found)


FACTS.add(Fact("pruned_layers", _layers))
FACTS.add(Fact("input_size", lambda facts: math.prod(facts.data.input_shape)))
