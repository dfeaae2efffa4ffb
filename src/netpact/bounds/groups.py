"""Two groups of bounds that many papers add to: counting, and products of norms, which are known by logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from netpact.bounds.bound import Bound
from netpact.bounds.logs import log, log_product, log_sum
from netpact.bounds.options import NormOptions
from netpact.bounds.premises import fixed_architecture, plain_chain

if TYPE_CHECKING:
    from netpact.bounds.facts import Facts
    from netpact.bounds.norms import LayerNorms

CONSTANTS = ("constants", "log factors")
COUNTING = partial(Bound, needs=("parameters",), premises=fixed_architecture)
NORM_BASED = partial(
    Bound,
    needs=("norms", "gamma"),
    ignored=(*CONSTANTS, "depth factors", "the norm of the inputs"),  # as Arora et al. 2018 draw them in Figure 2
    premises=plain_chain,
    options=(NormOptions,),
)


def log_norm_product(norms: Iterable[float], *, gamma: float) -> float:
    """ln of (1/gamma^2) prod_i norm_i^2."""
    return 2 * log_product(norms) - 2 * math.log(gamma)


def log_spectral(facts: Facts, log_numerator: Callable[[LayerNorms], float], *, power: float = 1.0) -> float:
    """ln of (1/gamma^2) prod_i |A_i|_2^2 (sum_i (numerator_i / |A_i|_2^2)^(1/power))^power.

    A layer of zeros makes the network constant; then the ratios are 0/0 and the product is 0.
    """
    if any(layer.spectral == 0 for layer in facts.norms):
        return -math.inf
    ratios = [(log_numerator(layer) - 2 * log(layer.spectral)) / power for layer in facts.norms]
    return (
        2 * log_product(layer.spectral for layer in facts.norms) + power * log_sum(ratios) - 2 * math.log(facts.gamma)
    )
