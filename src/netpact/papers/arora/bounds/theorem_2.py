"""Theorems 2.1 and 2.2: counting the values of the parameters, and truncated singular values."""

from __future__ import annotations

import math

from netpact.bounds.bound import BOUNDS
from netpact.bounds.facts import Facts
from netpact.bounds.groups import CONSTANTS, COUNTING, NORM_BASED, log_spectral
from netpact.bounds.logs import log


def count_bits(facts: Facts) -> float:
    """Theorem 2.1 for the network itself, q parameters of r = 2^32 values: C = (q ln r + ln(1/delta)) / 2."""
    return math.log(0.5 * (facts.parameters * 32 * math.log(2.0) - math.log(facts.delta)))


def truncate(facts: Facts) -> float:
    """Theorem 2.2 (Neyshabur et al. 2017): truncated singular values through Lemma 9.

        h d^2 max|x|^2 prod_i |A_i|_2^2 sum_i |A_i|_F^2 / |A_i|_2^2 / gamma^2

    The text prints max|x|; the proof in A.3 gives its square, and only that is the same in every unit of x.
    """
    inside = log_spectral(facts, lambda layer: 2 * log(layer.frobenius))
    return inside + math.log(facts.widest) + 2 * math.log(facts.depth) + 2 * log(facts.input_norm)


BOUNDS.add(
    COUNTING(
        "arora-2.1",
        "Arora et al. 2018, Theorem 2.1, every parameter one of 2^32 values",
        count_bits,
        needs=("parameters", "delta"),
        former="theorem-2.1",
    )
)
BOUNDS.add(
    NORM_BASED(
        "arora-2.2",
        "Arora et al. 2018, Theorem 2.2 with |x|^2 as in A.3",
        truncate,
        needs=("norms", "gamma", "widest", "depth", "input_norm"),
        ignored=CONSTANTS,
        former="theorem-2.2",
    )
)
