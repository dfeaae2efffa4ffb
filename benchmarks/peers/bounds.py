"""A rival bound as a plain function: PAC-Bayes-kl. Rounded outward, no torch."""

from __future__ import annotations

import math

from netpact.certificates import risk_bound
from netpact.core.errors import PactError

# Relative allowance for the rounding of a sum of logarithms.
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


def _check(*, samples: int, delta: float) -> None:
    if samples < 1 or not 0.0 < delta < 1.0:
        raise PactError(f"needed: samples >= 1 and 0 < delta < 1, got {samples} and {delta}", where="bound")
