"""Products of norms over the layers of a network, by their logarithms: what norm-based bounds share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from netpact.bounds.logs import log, log_product, log_sum

if TYPE_CHECKING:
    from netpact.bounds.facts import Facts
    from netpact.bounds.norms import LayerNorms

NEEDED = ("norms", "gamma")
CONSTANTS = ("constants", "log factors")
FIGURE = (*CONSTANTS, "depth factors", "the norm of the inputs")  # what Arora et al. 2018 leave out in Figure 2


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
