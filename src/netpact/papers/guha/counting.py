"""Lemmas D.2, D.3 and 5.1: how many entries of a matrix of normal weights survive Algorithm 1."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats
from scipy.special import gammaln

from netpact.core.checks import check_integer, check_number
from netpact.papers.guha.moments import normal_moments

_KAPPAS = tuple(np.geomspace(1e-6, 0.999, 400).tolist())  # fixed before the data, so that the best of them is free


def log_choose(entries: int, chosen: float) -> float:
    """ln of the binomial coefficient, by the gamma function."""
    return float(gammaln(entries + 1) - gammaln(chosen + 1) - gammaln(entries - chosen + 1))


def most_kept(entries: int, *, scale: float, failure: float) -> int:
    """Lemmas D.2 and D.3: with probability 1 - failure no more than so many of the entries are kept.

    D.2   at least tau entries are pruned with probability kappa or more, p_1 = erf(sqrt(-d ln(kappa) / 2)) of them on
          average: the tau with P[Bin(n, p_1) <= tau] <= failure / 2
    D.3   of these at least alpha are pruned: P[Bin(tau, kappa) <= alpha] <= failure / 2

    The best over kappa. The alpha of D.3 counts what is pruned, that of Lemma D.1 what is kept: n - alpha is returned.
    """
    check_integer(entries, where="entries", least=1)
    check_number(scale, where="scale", above=0)
    check_number(failure, where="failure", above=0, below=1)
    kappas = np.array(_KAPPAS)
    share = np.array([math.erf(math.sqrt(-scale * math.log(kappa) / 2)) for kappa in _KAPPAS])
    likely = _least(entries, share, failure / 2)
    pruned = _least(likely, kappas, failure / 2)
    return int(entries - pruned.max())


def _least(count: np.ndarray | int, probability: np.ndarray, failure: float) -> np.ndarray:
    """The largest k >= 0 with P[Bin(count, probability) <= k] <= failure, as I_(1-p)(n - k, k + 1) in the lemmas."""
    found = stats.binom.ppf(failure, count, probability) - 1
    return np.maximum(found, 0).astype(np.int64)


def most_kept_directly(entries: int, *, scale: float, failure: float) -> int:
    """The same without the detour: the number that is kept is binomial, with the share chi of Lemma 5.1."""
    chi = normal_moments(scale=scale, variance=1.0).kept
    return int(stats.binom.isf(failure, entries, chi))


def sketch_size(*, rows: int, columns: int, nonzeros: float) -> float:
    """m^2 of Theorem 5.1 without its constant: j p log^2 p, p = max(d_1, d_2), j nonzeros in a row or column at most.

    The proof of Theorem 5.2 goes on with d_1 d_2 in the place of p^2, which is smaller where the matrix is not square.
    """
    larger = max(rows, columns)
    return nonzeros * larger * math.log(larger) ** 2
