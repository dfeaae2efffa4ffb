"""Bounds for a predictor that is made from some of the samples: sample compression.

What is paid for is not a message but how many samples the predictor needs.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from netpact.certificates.bisection import safe_end
from netpact.certificates.inputs import MAX_CODE_BITS, MAX_SAMPLES, failure_probability
from netpact.certificates.tail import invert_tail
from netpact.core.checks import check_integer, plain

# Relative allowance for the rounding of sums of logarithms of factorials.
_SLACK = 1e-12
_MOST_TERMS = 1 << 22


def selection_bound(*, selected: int, samples: int, code_bits: int = 0, delta: float) -> float:
    """An upper bound on the risk of a predictor whose samples select `selected` of themselves.

    With probability at least 1 - delta over the draw of N samples, for all recipes of a prefix code at once, the risk
    is at most the solution e of (Campi and Garatti 2023, bound under the preference property; Paccagnan, Campi and
    Garatti 2023 for Pick-to-Learn)

        (delta 2^-code_bits / N) * sum_{m=k}^{N-1} C(m, k) / C(N, k) * (1 - e)^-(N - m) = 1,    k = selected

    and 1 if all are selected. A recipe is a fixed map from samples to a predictor and to the selected ones among them,
    such that (preference) any set between the selected samples and all samples selects the same, and (coherence) a
    further sample on which the predictor errs would be selected.

    The proof is short. Let F_k be the measure, over k samples that select all of themselves, of the probability a that
    a further sample changes the selection. By preference m samples select k of themselves, with a in A, with
    probability C(m, k) * integral over A of (1 - a)^(m - k) dF_k, for every m; and these sum to 1 over k. The sum above
    says that for a > e(k) the term of m = N is at most delta/N times the sum of those of m < N. Summed over all k, the
    probability of a > e(k) is at most delta/N * N.

    A message that changes the predictor after the selection is part of the recipe: let the picked samples S be found
    without it, and let the message, with S, decide the predictor. For each fixed message the selected ones are S and
    the others on which that predictor errs. A set between these and all samples finds the same S, so it has the same
    predictor and the same wrong ones; and a further sample on which it errs changes S, being picked, or is wrong. So
    preference and coherence hold for each message, and code_bits counts its bits beside the recipe's: for all of them
    at once, whichever was chosen by looking at the samples. S counts whole, also what the message makes no use of.

    Each term grows with e, so every point beyond the solution is beyond it too; and terms may be left out, which makes
    the bound larger.
    """
    n = check_integer(plain(samples), where="samples", least=1, most=MAX_SAMPLES)
    k = check_integer(plain(selected), where="selected", least=0, most=n)
    bits = check_integer(plain(code_bits), where="code_bits", least=0, most=MAX_CODE_BITS)
    log_share = math.log(failure_probability(delta)) - bits * math.log(2.0) - math.log(n)
    if k == n:
        return 1.0
    sizes = np.arange(k, n, -(-(n - k) // _MOST_TERMS), dtype=np.float64)
    log_ratios = gammaln(sizes + 1.0) - gammaln(sizes - k + 1.0) - (math.lgamma(n + 1) - math.lgamma(n - k + 1))
    slack = _SLACK * (math.lgamma(n + 1) - log_share + 1.0)

    def is_beyond(risk: float) -> bool:
        terms = log_ratios - (n - sizes) * math.log1p(-risk)
        largest = float(terms.max())
        return largest + math.log(float(np.exp(terms - largest).sum())) + log_share - slack >= 0.0

    return safe_end(lambda risk: risk >= 1.0 or is_beyond(risk), low=k / n, high=1.0)


def subset_bound(*, errors: int, kept: int, samples: int, code_bits: int = 0, delta: float) -> float:
    """The risk of a predictor that is made from any `kept` of the samples, whichever way they were found.

    With probability at least 1 - delta, for all subsets at once (Langford 2005, sample compression bound; the idea is
    Littlestone and Warmuth 1986):

        risk <= max{p : P[Bin(m - d, p) <= k] >= delta 2^-code_bits / (m C(m, d))}

    with d = kept, m = samples and k = errors on the m - d samples that were not kept. To say which samples were kept
    costs ln C(m, d) nats, as a message would: no preference is needed, and the bound is larger for that.
    """
    m = check_integer(plain(samples), where="samples", least=1, most=MAX_SAMPLES)
    d = check_integer(plain(kept), where="kept", least=0, most=m - 1)
    bits = check_integer(plain(code_bits), where="code_bits", least=0, most=MAX_CODE_BITS)
    log_choose = math.lgamma(m + 1) - math.lgamma(d + 1) - math.lgamma(m - d + 1)
    log_inv = log_choose + math.log(m) - math.log(failure_probability(delta)) + bits * math.log(2.0)
    return invert_tail(errors=errors, samples=m - d, log_inv=log_inv + _SLACK * (math.lgamma(m + 1) + log_inv))
