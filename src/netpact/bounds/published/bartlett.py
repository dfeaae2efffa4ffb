"""Bartlett and Mendelson 2002; Bartlett, Foster and Telgarsky 2017; Bartlett, Harvey, Liaw and Mehrabian 2019."""

from __future__ import annotations

import math
from functools import partial

from netpact.bounds.bound import BOUNDS
from netpact.bounds.facts import Facts
from netpact.bounds.groups import CONSTANTS, COUNTING, NORM_BASED, log_norm_product, log_spectral
from netpact.bounds.logs import log


def l1_inf(facts: Facts) -> float:
    """Figure 2 of Arora et al. 2018 prints it without the square, and then it changes with the unit of f.

    (1/gamma^2) prod_i |A_i|_1,inf^2
    """
    return log_norm_product((layer.l1_inf for layer in facts.norms), gamma=facts.gamma)


def spec_l1_2(facts: Facts) -> float:
    """(1/gamma^2) prod_i |A_i|_2^2 sum_i |A_i|_1,2^2 / |A_i|_2^2"""
    return log_spectral(facts, lambda layer: 2 * log(layer.l1_l2))


def margin_bound(facts: Facts) -> float:
    """Theorem 1.1, with reference matrices 0.

    (1/gamma^2) prod_i |A_i|_2^2 (sum_i (|A_i^T|_2,1 / |A_i|_2)^(2/3))^3
    """
    return log_spectral(facts, lambda layer: 2 * log(layer.l2_l1), power=3.0)


def vapnik_chervonenkis(facts: Facts) -> float:
    """The VC dimension of ReLU networks of W parameters and d layers, O(W d log W).

    W d log2 W
    """
    count = max(facts.parameters, 2)
    return math.log(count) + math.log(facts.depth) + math.log(math.log2(count))


_THEOREM_1_1 = "Bartlett, Foster and Telgarsky 2017, Theorem 1.1"
_AS_READ = "Bartlett et al. 2017 as read in Arora et al. 2018, Figure 2"
_DIMENSION = partial(COUNTING, needs=("parameters", "depth"), ignored=("constants", "more than two classes"))
BOUNDS.add(NORM_BASED("bartlett-mendelson-2002", "Bartlett and Mendelson 2002", l1_inf, former="l1-inf"))
BOUNDS.add(NORM_BASED("bartlett-2017", _THEOREM_1_1, margin_bound, ignored=(*CONSTANTS, "the norm of the inputs")))
BOUNDS.add(NORM_BASED("bartlett-2017-figure", _AS_READ, spec_l1_2, former="spec-l1-2"))
BOUNDS.add(_DIMENSION("bartlett-2019", "W d log2 W: Bartlett et al. 2019, Theorem 7", vapnik_chervonenkis, former="vc"))
