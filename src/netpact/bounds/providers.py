"""The facts of every network: norms of the weights, margins, counts, and what kind of network it is."""

from __future__ import annotations

import numpy as np
import torch

from netpact.bounds.facts import FACTS, Fact, Facts
from netpact.bounds.norms import LayerNorms, measure_norms
from netpact.bounds.options import NormOptions
from netpact.measurements.structure import Structure, find_structure
from netpact.network.kinds import KINDS


def _structure(facts: Facts) -> Structure:
    inputs, _ = next(iter(facts.data.train.batches(4)))
    return find_structure(facts.network, torch.from_numpy(inputs))


def _norms(facts: Facts) -> tuple[LayerNorms, ...]:
    reading = facts.options.of(NormOptions).convolutions
    return tuple(measure_norms(layer, convolutions=reading) for layer in facts.structure.layers)


def _input_norm(facts: Facts) -> float:
    batches = facts.data.train.batches()
    return float(max(np.linalg.norm(x.reshape(len(x), -1).astype(np.float64), axis=1).max() for x, _ in batches))


def _foreign(facts: Facts) -> tuple[str, ...]:
    known = (layer.name for layer in facts.network.layers if layer.kind not in KINDS.measured())
    return (*known, *facts.network.others)


def _has_biases(facts: Facts) -> bool:
    return any(layer.bias is not None and bool(layer.bias.any()) for layer in facts.structure.layers)


for _fact in (
    Fact("structure", _structure),
    Fact("norms", _norms),
    Fact("depth", lambda facts: len(facts.structure.layers)),
    Fact("widest", lambda facts: max(layer.outputs for layer in facts.norms)),
    Fact("parameters", lambda facts: facts.network.parameters),
    Fact("classes", lambda facts: facts.data.classes),
    Fact("samples", lambda facts: facts.data.train.count),
    Fact("input_norm", _input_norm),
    Fact("output_norm", lambda facts: float(facts.margins.norms.max())),
    Fact("errors", lambda facts: facts.margins.share_below(0.0)),
    Fact("gamma", lambda facts: facts.gamma),
    Fact("delta", lambda facts: facts.options.delta),
    Fact("foreign", _foreign),
    Fact("is_chain", lambda facts: all(layer.alone for layer in facts.structure.layers)),
    Fact("is_fully_connected", lambda facts: all(layer.kind == "linear" for layer in facts.structure.layers)),
    Fact("has_biases", _has_biases),
):
    FACTS.add(_fact)
