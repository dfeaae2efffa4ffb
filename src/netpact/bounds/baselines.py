"""The norm-based baselines of Arora et al. 2018, Figure 2, and counting: ln of each capacity.

Each is a squared capacity over gamma^2, so that the bound is L_gamma + sqrt(capacity / m). The inputs' norm, constants
and log factors are left out, as in the figure.
"""

from __future__ import annotations

import math

from netpact.bounds.facts import Facts
from netpact.bounds.logs import log, log_product, log_sum


def l1_inf(facts: Facts) -> float:
    """Bartlett and Mendelson 2002. Figure 2 prints it without the square, and then it changes with the unit of f.

    (1/gamma^2) prod_i |A_i|_1,inf^2
    """
    return 2 * log_product(layer.l1_inf for layer in facts.norms) - 2 * math.log(facts.gamma)


def frobenius(facts: Facts) -> float:
    """Neyshabur, Tomioka and Srebro 2015.

    (1/gamma^2) prod_i |A_i|_F^2
    """
    return 2 * log_product(layer.frobenius for layer in facts.norms) - 2 * math.log(facts.gamma)


def spec_l1_2(facts: Facts) -> float:
    """Figure 2's reading of Bartlett, Foster and Telgarsky 2017.

    (1/gamma^2) prod_i |A_i|_2^2 sum_i |A_i|_1,2^2 / |A_i|_2^2
    """
    return _spectral(facts, [2 * log(layer.l1_l2) for layer in facts.norms])


def spec_fro(facts: Facts) -> float:
    """Neyshabur, Bhojanapalli and Srebro 2017 (a PAC-Bayesian approach), as in Figure 2.

    (1/gamma^2) prod_i |A_i|_2^2 sum_i h_i |A_i|_F^2 / |A_i|_2^2
    """
    return _spectral(facts, [log(layer.outputs) + 2 * log(layer.frobenius) for layer in facts.norms])


def bartlett_2017(facts: Facts) -> float:
    """Bartlett, Foster and Telgarsky 2017, Theorem 1.1, with reference matrices 0.

    (1/gamma^2) prod_i |A_i|_2^2 (sum_i (|A_i^T|_2,1 / |A_i|_2)^(2/3))^3
    """
    if _is_zero(facts):
        return -math.inf
    ratios = [2 / 3 * (log(layer.l2_l1) - log(layer.spectral)) for layer in facts.norms]
    return _log_spectral_product(facts) - 2 * math.log(facts.gamma) + 3 * log_sum(ratios)


def parameters(facts: Facts) -> float:
    """The number of parameters, each of which counts for one."""
    return math.log(facts.parameters)


def vapnik_chervonenkis(facts: Facts) -> float:
    """The VC dimension of ReLU networks of W parameters and d layers, O(W d log W): Bartlett et al. 2019, Theorem 7.

    W d log2 W
    """
    count = max(facts.parameters, 2)
    return math.log(count) + math.log(facts.depth) + math.log(math.log2(count))


def theorem_2_2(facts: Facts) -> float:
    """Arora et al. 2018, Theorem 2.2 (Neyshabur et al. 2017): truncated singular values through Lemma 9.

        h d^2 max|x|^2 prod_i |A_i|_2^2 sum_i |A_i|_F^2 / |A_i|_2^2 / gamma^2

    The text prints max|x|; the proof in A.3 gives its square, and only that is the same in every unit of x.
    """
    inside = _spectral(facts, [2 * log(layer.frobenius) for layer in facts.norms])
    return inside + math.log(facts.widest) + 2 * math.log(facts.depth) + 2 * log(facts.input_norm)


def _spectral(facts: Facts, log_numerators: list[float]) -> float:
    """ln of (1/gamma^2) prod |A|_2^2 sum numerator_i / |A_i|_2^2."""
    if _is_zero(facts):
        return -math.inf
    ratios = [above - 2 * log(layer.spectral) for above, layer in zip(log_numerators, facts.norms, strict=True)]
    return _log_spectral_product(facts) + log_sum(ratios) - 2 * math.log(facts.gamma)


def _log_spectral_product(facts: Facts) -> float:
    return 2 * log_product(layer.spectral for layer in facts.norms)


def _is_zero(facts: Facts) -> bool:
    """A layer of zeros makes the network constant; then the ratios are 0/0 and the product is 0."""
    return any(layer.spectral == 0 for layer in facts.norms)
