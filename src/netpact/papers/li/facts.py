"""What the bounds of the paper are computed from: the layers as tensors, measured on all training samples."""

from __future__ import annotations

import math

from netpact.bounds.facts import FACTS, Fact, Facts
from netpact.core.errors import PactError
from netpact.measurements.tensors import TensorProperties, tensor_properties

_SAME = 1e-9  # two sums of the same squares differ by far less


def _tensors(facts: Facts) -> TensorProperties:
    """Layers in CP form have their own components; others get the exact form of Proposition 4.1."""
    found = tensor_properties(facts.network, facts.data)
    measured = {} if facts.measures is None else {layer.name: layer.frobenius for layer in facts.measures.layers}
    for layer in found.layers:
        known = measured.get(layer.name)
        if known is not None and not math.isclose(known.value, layer.frobenius, rel_tol=_SAME):
            raise PactError("the measurements are of another network", where=f"measures, {layer.name}")
    return found


FACTS.add(Fact("tensors", _tensors, quantities=("frobenius",)))
