"""The bounds of Arora et al. 2018 from measured properties: ln of each capacity."""

from __future__ import annotations

import math

from netpact.bounds.facts import Facts
from netpact.bounds.lemma_accuracy import accuracy_for_gamma
from netpact.bounds.logs import log, log_sum
from netpact.bounds.projecting import log_printed_parameters, log_valid_parameters


def theorem_4_1(facts: Facts) -> float:
    """Theorem 4.1, fully connected networks.

    c^2 d^2 max|f(x)|^2 sum_i 1 / (mu_i^2 mu_i->^2) / gamma^2
    """
    stability = facts.measured
    return (
        2 * (log(stability.contraction) + math.log(facts.depth))
        + facts.log_signal
        + log_sum(layer.log_weight for layer in stability.layers)
    )


def theorem_5_1(facts: Facts) -> float:
    """Theorem 5.1, convolutional networks; equal to Theorem 4.1 where all layers are fully connected.

        c^2 d^2 max|f(x)|^2 sum_i beta^2 ceil(kappa_i/s_i)^2 / (mu_i^2 mu_i->^2) / gamma^2

    Not proven: given the subspace of Algorithm 4 all places share one error, so that its matrices are not p-wise
    independent, as Lemma 12 says.
    """
    stability = facts.measured
    return (
        2 * (log(stability.contraction) + math.log(facts.depth) + log(stability.well_distributed))
        + facts.log_signal
        + log_sum(layer.log_weight + math.log(layer.overlap) for layer in stability.layers)
    )


def figure_2(facts: Facts) -> float:
    """The bound that Figure 2 calls "ours" and Table 1 splits by layer: depth, constants and logarithms are left out.

    max|f(x)|^2 / gamma^2 * sum_i c_i^2 beta_i^2 ceil(kappa_i/s_i)^2 / (mu_i^2 mu_i->^2)
    """
    return facts.log_signal + log_sum(layer.log_effective for layer in facts.measured.layers)


def output_accuracy(facts: Facts) -> float:
    return accuracy_for_gamma(facts.gamma, output_norm=facts.output_norm)


def lemma_3_printed(facts: Facts) -> float:
    """Lemma 3 with its own constant, at the accuracy of Lemma 10; the k = ln(1/eta)/eps^2 behind it is too small."""
    return log_printed_parameters(facts.measured, samples=facts.samples, eps=output_accuracy(facts), delta=facts.delta)


def lemma_3_valid(facts: Facts) -> float:
    """Lemma 3 with the counts that its proof needs, at the accuracy of Lemma 10."""
    return log_valid_parameters(facts.measured, samples=facts.samples, eps=output_accuracy(facts), delta=facts.delta)
