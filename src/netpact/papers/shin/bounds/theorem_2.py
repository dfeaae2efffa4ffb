"""Theorem 2: the number of entries that are kept, at the thresholds that a margin asks for."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from netpact.bounds.bound import BOUNDS
from netpact.bounds.estimate import Premise
from netpact.bounds.groups import CONSTANTS
from netpact.bounds.layer_budget import LayerBudget
from netpact.bounds.logs import log
from netpact.bounds.premises import refuse_convolutions
from netpact.papers.arora.lemma_3 import accuracy_for_gamma, failure_shares, log_accuracies
from netpact.papers.arora.stability import MEASURED, of_stability

if TYPE_CHECKING:
    from netpact.bounds.facts import Facts
    from netpact.methods.tail_split import TailSplit

_BALANCED = 0.01


def split_layers(facts: Facts) -> list[TailSplit]:
    """Algorithm 1 with eps_i = eps mu_i mu_i-> / (6 c d) and eps = gamma / (sqrt(2) max|f|), layer by layer.

    tau^2 + t is eps_i^2 |W|_F^2 / (2 log(3/eta_i)): the paper's with |W|_F = 1, which is its premise at the least.
    """
    from netpact.methods.heavy_tail import theorem_budget
    from netpact.methods.layer_budgets import LayerAccuracy
    from netpact.methods.tail_split import largest_tau, split_by_theory

    eps = accuracy_for_gamma(facts.gamma, output_norm=facts.output_norm)
    logs = log_accuracies(facts.stability, eps=eps)
    shares = failure_shares(facts.stability, samples=facts.samples, delta=facts.delta)
    return [
        split_by_theory(values, largest_tau(values, theorem_budget(values, accuracy)))
        for values, accuracy in zip(facts.layer_weights, map(LayerAccuracy, logs, shares), strict=True)
    ]


def count_kept(facts: Facts) -> float:
    """ln of  sum_i k_i."""
    return log(sum(split.kept_count for split in split_layers(facts)))


def layer_budgets(facts: Facts) -> tuple[LayerBudget, ...]:
    return tuple(
        LayerBudget(layer.name, log(split.kept_count) / math.log(10.0), split.values.size)
        for layer, split in zip(facts.stability.layers, split_layers(facts), strict=True)
    )


def premises(facts: Facts) -> tuple[Premise, ...]:
    import numpy as np

    names, splits = [layer.name for layer in facts.stability.layers], split_layers(facts)
    sizes = [float(np.linalg.norm(split.values)) for split in splits]
    small = [f"{name}: {size:.3g}" for name, size in zip(names, sizes, strict=True) if size < 1]
    # |W - W(t)|_F^2 is |A|_F^2 + t n on average over the noise.
    moved = [
        math.hypot(float(np.linalg.norm(split.values[~split.kept])), split.std * math.sqrt(split.values.size))
        for split in splits
    ]
    far = [name for name, size, off in zip(names, sizes, moved, strict=True) if off > size / facts.depth]
    even = max(sizes) <= (1 + _BALANCED) * min(sizes)
    return (
        Premise("Proposition 1.1", False, "it does not hold: docs/papers/shin.md"),
        *of_stability(facts),
        Premise("|W_i|_F >= 1", not small, ", ".join(small[:3])),
        Premise("layers of one Frobenius norm (96)", even, f"{min(sizes):.3g} to {max(sizes):.3g}"),
        Premise("|W - W(t)|_F <= |W|_F / d, before (98)", not far, ", ".join(far[:3])),
        Premise("no biases", not facts.has_biases),
    )


BOUNDS.add(
    partial(MEASURED, refuses=refuse_convolutions)(
        "shin-2",
        "Shin 2021, Theorem 2 (large entries kept, noise for the others)",
        count_kept,
        needs=("stability", "layer_weights", "samples", "output_norm", "gamma", "delta"),
        ignored=(*CONSTANTS, "where the kept entries are: log C(n, k) nats"),
        premises=premises,
        layers=layer_budgets,
    )
)
