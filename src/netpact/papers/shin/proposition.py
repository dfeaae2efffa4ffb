"""Proposition 1.1: how far u^T W v moves when sqrt(t) G + B stands for W = A + B; as printed, and what is proven."""

from __future__ import annotations

import math
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from netpact.core.checks import check_choice, check_number

Array = NDArray[np.float64]
MAIN, APPENDIX, ALGEBRA = "main text", "appendix", "algebra"
# 2 / (tau^2 + t) = constant * log(3/eta) / eps^2: of Proposition 1.1, of the end of appendix A, and what (37) gives.
CONSTANTS = MappingProxyType({MAIN: 2.0, APPENDIX: 1.0, ALGEBRA: 4.0})
_HEAD = 3.0  # (33): e, rounded up
_ROUNDING = 1 + 1e-5  # singular values in float64; the table's in units of 2^-20, weights in float32


def squared_room(eps: float, eta: float, *, reading: str = ALGEBRA) -> float:
    """tau^2 + t for an error eps |u| |v| and a failure probability eta: 2 eps^2 / (constant log(3/eta))."""
    check_number(eps, where="eps", above=0)
    _check_eta(eta)
    return 2.0 * eps**2 / (CONSTANTS[check_choice(reading, CONSTANTS, where="reading")] * math.log(_HEAD / eta))


def stated_error(*, tau: float, t: float, eta: float, reading: str = ALGEBRA) -> float:
    """The inverse: the eps of Proposition 1.1, sqrt(constant log(3/eta) (tau^2 + t) / 2). An estimate.

    (29) puts sum a^2 tau^2 in the place of (sum a tau)^2, so no constant makes it true: with A = tau everywhere u^T A v
    reaches tau sqrt(N_1 N_2). It is true of entries that are independent with mean 0: see centred_error.
    """
    _check_eta(eta)
    check_number(tau, where="tau", least=0)
    check_number(t, where="t", least=0)
    constant = CONSTANTS[check_choice(reading, CONSTANTS, where="reading")]
    return math.sqrt(constant * math.log(_HEAD / eta) * (tau**2 + t) / 2.0)


def centred_error(*, tau: float, t: float, eta: float) -> float:
    """Proven where the entries of A are independent, of mean 0 and within +-tau: sqrt(2 (tau^2 + t) log(2/eta)).

    Hoeffding's lemma: each a_ij A_ij is sub-Gaussian with variance factor a_ij^2 tau^2, and the noise adds a_ij^2 t.
    """
    _check_eta(eta)
    return math.sqrt(2.0 * (tau**2 + t) * math.log(2.0 / eta))


def proven_error(small: Array, *, t: float, eta: float) -> float:
    """Proven for a given A, over the noise alone: |u^T (A - sqrt(t) G) v| <= eps |u| |v| but for a probability of eta,

        eps = |A|_2 + sqrt(2 t log(2/eta))

    for fixed u and v, or those that do not depend on this noise. A is what was learned: nothing is assumed of it. The
    decoder's table of normal numbers is sub-Gaussian with variance 1 too: each cell has its root mean square, and
    cosh(sqrt(y)) is convex in y, so that E[exp(s g)] = E[cosh(s g)] is at most the Gaussian's (Jensen).
    """
    _check_eta(eta)
    check_number(t, where="t", least=0)
    norm = float(np.linalg.norm(small.reshape(len(small), -1), 2)) if small.size else 0.0
    return (norm + math.sqrt(2.0 * t * math.log(2.0 / eta))) * _ROUNDING


def _check_eta(eta: float) -> None:
    check_number(eta, where="eta", above=0, below=1)
