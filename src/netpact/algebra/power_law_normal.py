"""Maximum likelihood of normal distributions that are cut off below, however far out the cut is.

z is standard normal above a; h(a) = density(a) / P(z > a) is its hazard. Both families are exponential ones: the fit is
where the moments of the model are those of the numbers, one equation in a.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr

_FAR = 5.0  # from here on the continued fraction is used
_TERMS = 80  # of it: all digits at _FAR
_UNCUT = 40.0  # the share of a normal distribution below -40 is no float
_NO_CURVATURE = 1e-9  # below it the likelihood gains less than 1e-19 for each number


def excess_moments(a: float) -> tuple[float, float]:
    """E[z - a] = h(a) - a and E[(z - a)^2] = 1 - a (h(a) - a), of z above a."""
    if a > _FAR:  # h(a) - a = 1 / (a + 2 / (a + 3 / (a + ...))): no digits cancel
        rest = 0.0
        for term in range(_TERMS, 1, -1):
            rest = term / (a + rest)
        return 1 / (a + rest), rest / (a + rest)
    first = math.sqrt(2 / math.pi) / float(erfcx(a / math.sqrt(2))) - a
    return first, 1 - a * first


def log_hazard(a: float) -> float:
    if a > _FAR:
        return math.log(a + excess_moments(a)[0])
    return -(a**2) / 2 - math.log(2 * math.pi) / 2 - float(log_ndtr(-a))


def fit_cut_normal(mean: float, variance: float) -> tuple[float, float] | None:
    """(a, sigma) so that sigma (z - a), which is a normal variable cut off at 0, has this mean and variance.

    The ratio of E[y^2] to E[y]^2 rises in a from 1 to 2, that of an exponential variable. None where the numbers have 2
    or more: the likelihood then rises up to that limit.
    """
    spread = variance / mean**2
    if 1 - spread <= _NO_CURVATURE:
        return None
    if spread * _UNCUT**2 < 1:
        a = -1 / math.sqrt(spread)
    else:
        a = brentq(lambda cut: _spread(cut) - spread, -_UNCUT - 1, 2 + 2 * math.sqrt(2 / (1 - spread)), xtol=1e-13)
    return a, mean / excess_moments(a)[0]


def fit_half_normal(square_excess: float, start: float) -> float:
    """sigma so that sigma z, cut off at start >= 0, has E[w^2] - start^2 = sigma^2 (1 + a (h(a) - a)) = square_excess.

    The bracket lies between 1 and 2.
    """

    def difference(sigma: float) -> float:
        return sigma**2 * (2 - excess_moments(start / sigma)[1]) - square_excess

    ends = math.sqrt(square_excess / 2) * (1 - 1e-12), math.sqrt(square_excess) * (1 + 1e-12)
    return float(brentq(difference, *ends, xtol=1e-15 * ends[0], rtol=1e-14))


def _spread(a: float) -> float:
    first, second = excess_moments(a)
    return second / first**2 - 1


def log_density(steps: np.ndarray, a: float) -> np.ndarray:
    """Of z - a at steps >= 0: h(a) exp(-a t - t^2 / 2)."""
    return log_hazard(a) - steps * (a + steps / 2)
