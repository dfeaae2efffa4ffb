"""Theorem 6.2: a network found inside a larger random one by pruning, with the premises of Theorem 6.1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from netpact.bounds.bound import BOUNDS, Bound
from netpact.bounds.estimate import Premise
from netpact.bounds.logs import log
from netpact.bounds.premises import plain_chain, refuse_convolutions

if TYPE_CHECKING:
    from netpact.bounds.facts import Facts
    from netpact.papers.guha.theory import TheoryLayer


def large_width(*, inputs: int, width: int, depth: int, accuracy: float, delta: float) -> float:
    """D_G of Theorem 6.1, "poly(d_0, n_M, L, 1/eps, log 1/delta)": the product of the five, as nothing more is said."""
    return inputs * width * depth / accuracy * math.log(1 / delta)


def count_lottery(facts: Facts) -> float:
    """ln of  (n_M d_0 log^2 D_G + L n_M^2 log^2 D_G) log(r)

    n_M the largest hidden dimension, eps = gamma / (2 sqrt(2)), as much for rounding: weights in [-1, 1], and
    e sum_l (rho / 2) sqrt(J_l) = eps for matrices of norm at most 1 gives rho; r = 2 / rho + 1.
    """
    layers: tuple[TheoryLayer, ...] = facts.pruned_layers
    width = hidden_width(layers)
    accuracy = facts.gamma / (2 * math.sqrt(2))
    larger = large_width(inputs=facts.input_size, width=width, depth=len(layers), accuracy=accuracy, delta=facts.delta)
    spread = math.e * math.fsum(math.sqrt(layer.entries) for layer in layers) / 2
    levels = 2 * spread / accuracy + 1
    squared = math.log(max(larger, math.e)) ** 2
    numbers = width * facts.input_size + len(layers) * width**2
    return log(numbers * squared * math.log(levels))


def hidden_width(layers: tuple[TheoryLayer, ...]) -> int:
    """n_M; of a network without hidden layers its number of outputs."""
    return max((layer.rows for layer in layers[:-1]), default=layers[-1].rows)


def _premises(facts: Facts) -> tuple[Premise, ...]:
    layers: tuple[TheoryLayer, ...] = facts.pruned_layers
    norm = max(layer.norm for layer in layers)
    entry = max(layer.largest * math.sqrt(layer.columns) for layer in layers)
    return (
        *plain_chain(facts),
        Premise("|A|_2 <= 1 in every layer (Theorem 6.1)", norm <= 1, f"largest {norm:.3g}"),
        Premise("|A|_max <= 1/sqrt(d) in every layer (Theorem 6.1)", entry <= 1, f"largest times sqrt(d) {entry:.3g}"),
        Premise("|x|_2 <= 1", facts.input_norm <= 1, f"largest {facts.input_norm:.3g}"),
        Premise("eps = gamma / (2 sqrt(2)) is below 1", facts.gamma < 2 * math.sqrt(2), f"gamma {facts.gamma:.3g}"),
        Premise("the network was found by pruning a random one", None, "not by training"),
    )


BOUNDS.add(
    Bound(
        "guha-6.2",
        "Guha et al. 2023, Theorem 6.2",
        count_lottery,
        needs=("pruned_layers", "input_size", "gamma", "delta"),
        ignored=("constants", "the polynomial D_G (the product of its arguments is used)", "biases"),
        premises=_premises,
        refuses=refuse_convolutions,
    )
)
