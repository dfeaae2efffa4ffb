"""How many numbers random projection needs to keep a network's outputs: Lemma 3, and the accuracy of Lemma 10."""

from __future__ import annotations

import math

from netpact.bounds.logs import log, log_sum
from netpact.bounds.margin import margin_used
from netpact.papers.arora.stability import Stability

# eps_i = eps mu_i mu_i-> / (6 c d). The three terms of the induction step take 2/6 + 1/3 + 1/3 of eps/d. The text
# prints 4, with which they take 2/4 + 1/3 + 1/3 > 1; the lemma's own 72 = 2 * 6^2 is that of 6.
_PARTS = 6
# Below e^-100 the cube of eps is nothing beside its square, and the square comes near to what a float cannot hold.
_TINY = -100.0


def accuracy_for_gamma(gamma: float, *, output_norm: float) -> float:
    """The relative accuracy of the outputs that leaves every margin above gamma positive:

    eps = gamma / (sqrt(2) max|f(x)|)      (Lemma 10), at most 1 as Lemma 3 asks
    """
    used = margin_used(output_norm, norm="l2")
    return min(1.0, gamma / used) if used > 0 else 1.0


def log_accuracies(stability: Stability, *, eps: float) -> list[float]:
    """ln of eps_i = eps mu_i mu_i-> / (6 c d), layer by layer."""
    shared = log(eps) - math.log(_PARTS * len(stability.layers)) - log(stability.contraction)
    return [shared - 0.5 * layer.log_weight for layer in stability.layers]


def log_printed_parameters(stability: Stability, *, samples: int, eps: float, delta: float) -> float:
    """ln of the number of parameters that Lemma 3 prints, h the most units of a layer:

    72 c^2 d^2 log(m d h / delta) / eps^2 * sum_i 1 / (mu_i^2 mu_i->^2)
    """
    depth, widest = len(stability.layers), max(layer.units for layer in stability.layers)
    log_log = math.log(math.log(samples * depth * widest / delta))
    constant = math.log(2 * _PARTS**2) + 2 * (log(stability.contraction) + math.log(depth) - log(eps))
    return constant + log_log + log_sum(layer.log_weight for layer in stability.layers)


def failure_shares(stability: Stability, *, samples: int, delta: float) -> list[float]:
    """The failure probability of one product u^T (A^ - A) v of layer i, so that all of them together have delta/2.

        eta_i = delta / (2 d m sum_{j >= i} h_j)

    u is a row of J^{i,j} at one of the m samples, v the input of layer i behind the layers projected before it: a
    union over samples, layers j >= i and their h_j rows. For j = i the Jacobian is the identity.
    """
    depth, units = len(stability.layers), [layer.units for layer in stability.layers]
    return [delta / (2.0 * depth * samples * sum(units[place:])) for place in range(depth)]


def log_valid_parameters(stability: Stability, *, samples: int, eps: float, delta: float) -> float:
    """ln of the sum of the k_i that Lemma 3 needs for +-1 matrices:

    k_i the least with 4 exp(-k_i (eps_i^2/4 - eps_i^3/6)) <= eta_i
    """
    shares = failure_shares(stability, samples=samples, delta=delta)
    accuracies = log_accuracies(stability, eps=eps)
    return log_sum(log_count(accuracy, eta=eta) for accuracy, eta in zip(accuracies, shares, strict=True))


def log_count(log_eps: float, *, eta: float) -> float:
    """ln of the count for one layer; infinite where no accuracy is left (a cushion of 0)."""
    if log_eps == -math.inf:
        return math.inf
    if log_eps < _TINY:
        return math.log(4.0 * math.log(4.0 / eta)) - 2.0 * log_eps
    from netpact.algebra.projection import valid_count  # takes torch, which the table of bounds is read without

    return math.log(valid_count(eps=math.exp(min(log_eps, 0.0)), eta=eta))
