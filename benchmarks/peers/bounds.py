"""The rival bounds as plain functions: PAC-Bayes-kl, sample compression, Pick-to-Learn. Rounded outward, no torch."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from netpact.certificates import invert_tail, risk_bound
from netpact.certificates.bisection import safe_end
from netpact.core.errors import PactError

# Relative allowance for the rounding of sums of logarithms; they have at most a few million terms of like size.
_SLACK = 1e-12


def pac_bayes_kl_bound(*, gibbs_error: float, divergence: float, samples: int, delta: float) -> float:
    """The risk that a random network drawn from the posterior Q does not exceed on average (Maurer 2004, Theorem 5).

    With probability at least 1 - delta over the samples, for all posteriors Q at once, with a prior P fixed before:

        kl(gibbs_error || risk) <= (KL(Q || P) + ln(2 sqrt(m) / delta)) / m

    gibbs_error  the share of samples that a network drawn from Q gets wrong on average
    divergence   KL(Q || P) in nats
    Stated about a random network, not about any single one: it is no certificate for a file.
    """
    _check(samples=samples, delta=delta)
    if not 0.0 <= gibbs_error <= 1.0 or not divergence >= 0.0:
        raise PactError("needed: 0 <= gibbs_error <= 1 and divergence >= 0", where="pac_bayes_kl_bound")
    log_inv = (divergence + math.log(2.0 * math.sqrt(samples) / delta)) * (1.0 + _SLACK)
    # netpact's own inversion takes whole errors and log_inv = bits*ln 2 + ln(1/delta): errors are rounded up, and
    # log_inv is taken apart into whole bits and a rest between two and three.
    bits = max(0, int(log_inv / math.log(2.0)) - 2)
    rest = math.exp(bits * math.log(2.0) - log_inv)
    errors = min(samples, math.ceil(gibbs_error * samples))
    return risk_bound(errors=errors, samples=samples, code_bits=bits, delta=rest, form="kl")


def sample_compression_bound(*, errors: int, kept: int, samples: int, delta: float) -> float:
    """The risk of a predictor that can be rebuilt from `kept` of its samples (Langford 2005, sample compression bound;
    the idea is Littlestone and Warmuth 1986). With probability at least 1 - delta, for all subsets at once:

        risk <= max{p : P[Bin(m - d, p) <= k] >= delta / (m C(m, d))}

    with d = kept, m = samples and k = errors on the m - d samples that were not kept. A union over the m sizes of a
    subset and, within a size, over all C(m, d) subsets: to say which samples were kept costs ln C(m, d) nats, where a
    message costs its own length.
    """
    _check(samples=samples, delta=delta)
    if not 0 <= kept < samples:
        raise PactError(f"0 to {samples - 1} are allowed, got {kept}", where="kept")
    log_inv = (_log_choose(samples, kept) + math.log(samples) - math.log(delta)) * (1.0 + _SLACK)
    return invert_tail(errors=errors, samples=samples - kept, log_inv=log_inv)


def pick_to_learn_bound(*, kept: int, samples: int, delta: float) -> float:
    """The risk of what Pick-to-Learn returns (Paccagnan, Campi and Garatti 2023; Campi and Garatti 2023, bound under
    the preference property). With probability at least 1 - delta the risk is at most the solution e of

        (delta / N) * sum_{m=k}^{N-1} C(m, k) / C(N, k) * (1 - e)^-(N - m) = 1,    k = kept, N = samples

    It needs a selection with the preference property (running it on any set between the kept samples and all samples
    keeps the same ones) and a predictor that errs on no sample that was not kept.
    """
    _check(samples=samples, delta=delta)
    if not 0 <= kept <= samples:
        raise PactError(f"0 to {samples} are allowed, got {kept}", where="kept")
    if kept == samples:
        return 1.0
    sizes = np.arange(kept, samples, dtype=np.float64)
    log_ratios = gammaln(sizes + 1.0) - gammaln(sizes - kept + 1.0)
    log_ratios -= math.lgamma(samples + 1) - math.lgamma(samples - kept + 1)
    slack = _SLACK * (abs(math.lgamma(samples + 1)) + 1.0)

    def is_beyond(risk: float) -> bool:
        # The left side grows with the risk; the sum is taken in logarithms, its largest term first.
        terms = log_ratios - (samples - sizes) * math.log1p(-risk)
        largest = float(terms.max())
        total = largest + math.log(float(np.exp(terms - largest).sum()))
        return total + math.log(delta / samples) - slack >= 0.0

    return safe_end(lambda risk: risk >= 1.0 or is_beyond(risk), low=kept / samples, high=1.0)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _check(*, samples: int, delta: float) -> None:
    if samples < 1 or not 0.0 < delta < 1.0:
        raise PactError(f"needed: samples >= 1 and 0 < delta < 1, got {samples} and {delta}", where="bound")
