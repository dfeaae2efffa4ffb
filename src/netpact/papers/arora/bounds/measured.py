"""Theorems 4.1 and 5.1 and Figure 2, from measured properties: ln of each capacity."""

from __future__ import annotations

import math
from functools import partial

from netpact.bounds.bound import BOUNDS
from netpact.bounds.estimate import Premise
from netpact.bounds.facts import Facts
from netpact.bounds.groups import CONSTANTS
from netpact.bounds.logs import log, log_sum
from netpact.bounds.premises import refuse_convolutions
from netpact.papers.arora.stability import MEASURED, Stability, of_stability


def theorem_4_1(facts: Facts) -> float:
    """Theorem 4.1, fully connected networks.

    c^2 d^2 max|f(x)|^2 sum_i 1 / (mu_i^2 mu_i->^2) / gamma^2
    """
    stability: Stability = facts.stability
    return (
        2 * (log(stability.contraction) + math.log(facts.depth))
        + log_signal(facts)
        + log_sum(layer.log_weight for layer in stability.layers)
    )


def theorem_5_1(facts: Facts) -> float:
    """Theorem 5.1, convolutional networks; equal to Theorem 4.1 where all layers are fully connected.

        c^2 d^2 max|f(x)|^2 sum_i beta^2 ceil(kappa_i/s_i)^2 / (mu_i^2 mu_i->^2) / gamma^2

    Not proven: given the subspace of Algorithm 4 all places share one error, so that its matrices are not p-wise
    independent, as Lemma 12 says.
    """
    stability: Stability = facts.stability
    return (
        2 * (log(stability.contraction) + math.log(facts.depth) + log(stability.well_distributed))
        + log_signal(facts)
        + log_sum(layer.log_weight + math.log(layer.overlap) for layer in stability.layers)
    )


def figure_2(facts: Facts) -> float:
    """The bound that Figure 2 calls "ours" and Table 1 splits by layer: depth, constants and logarithms are left out.

    max|f(x)|^2 / gamma^2 * sum_i c_i^2 beta_i^2 ceil(kappa_i/s_i)^2 / (mu_i^2 mu_i->^2)
    """
    return log_signal(facts) + log_sum(layer.log_effective for layer in facts.stability.layers)


def log_signal(facts: Facts) -> float:
    """ln of max |f(x)|^2 / gamma^2."""
    return 2.0 * (log(facts.output_norm) - math.log(facts.gamma))


def of_shared_filters(facts: Facts) -> tuple[Premise, ...]:
    """For convolutions Theorem 5.1 needs what Algorithm 4 does not give."""
    if facts.is_fully_connected:
        return of_stability(facts)
    why = "all places of Algorithm 4 share the error of one subspace"
    return (*of_stability(facts), Premise("p-wise independent errors (Lemma 12)", False, why))


_THEOREM = partial(MEASURED, needs=("stability", "depth", "output_norm", "gamma"), ignored=CONSTANTS)
BOUNDS.add(
    MEASURED(
        "arora-figure-2",
        "Arora et al. 2018, Figure 2 and Table 1",
        figure_2,
        needs=("stability", "output_norm", "gamma"),
        ignored=(*CONSTANTS, "depth factors"),
        premises=of_shared_filters,
        former="figure-2",
    )
)
BOUNDS.add(
    _THEOREM(
        "arora-4.1", "Arora et al. 2018, Theorem 4.1", theorem_4_1, refuses=refuse_convolutions, former="theorem-4.1"
    )
)
BOUNDS.add(
    _THEOREM(
        "arora-5.1", "Arora et al. 2018, Theorem 5.1", theorem_5_1, premises=of_shared_filters, former="theorem-5.1"
    )
)
