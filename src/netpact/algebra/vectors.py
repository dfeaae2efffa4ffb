"""Compressing one linear classifier (Arora et al. 2018, A.2): Algorithms 2 and 3 with Lemmas 4, 5 and 7.

A classifier is a vector c with |c| <= 1, an input a vector u with |u| <= 1, and the compressed one shall satisfy
|c^.u - c.u| <= gamma with probability 1 - eta for each fixed u. Arrays of several rows are taken row by row.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from netpact.algebra.projection import valid_count
from netpact.algebra.stream import GAUSSIAN_UNIT, Stream
from netpact.core.checks import check_choice, check_number

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_ROUNDING_SHARE = 1 / 8  # of gamma, for rounding the products
_PURPOSE = "vector directions"
DIRECTIONS = ("signs", "gaussians")


def keep_probabilities(vector: Array, *, gamma: float, eta: float) -> Array:
    """With which probability Algorithm 2 keeps an entry: never above 1, which is not printed.

    p_i = min(1, 2 c_i^2 / (eta gamma^2))
    """
    check_gamma(gamma=gamma, eta=eta)
    return np.minimum(1.0, 2 * np.square(vector) / (eta * gamma**2))


def compress_vector(vector: Array, *, gamma: float, eta: float, random: np.random.Generator) -> Array:
    """Vector-Compress (Algorithm 2, Lemma 4): few entries are kept, each enlarged so that the mean is right.

        c^_i = c_i / p_i with probability p_i, otherwise 0
        Var[c^.u] = sum_i u_i^2 c_i^2 (1 - p_i) / p_i <= eta gamma^2 / 2,   so P[|c^.u - c.u| >= gamma] <= eta / 2

    by Chebyshev's inequality; the printed variance has a factor 2 too much, which hides half of the probability.
    """
    kept = keep_probabilities(vector, gamma=gamma, eta=eta)
    taken = random.random(vector.shape) < kept
    return np.divide(vector, kept, out=np.zeros_like(vector), where=taken)


def most_nonzeros(*, gamma: float, eta: float, delta: float) -> float:
    """So many entries does Algorithm 2 keep at most, with probability 1 - delta (Lemma 4; Bernstein's inequality).

        mean = 2 / (eta gamma^2),   L = ln(1/delta)
        most = mean + L/3 + sqrt(L^2/9 + 2 mean L)

    The number of entries does not matter: the printed factor log h is not needed.
    """
    check_gamma(gamma=gamma, eta=eta)
    mean, slack = 2 / (eta * gamma**2), math.log(1 / delta)
    return mean + slack / 3 + math.sqrt(slack**2 / 9 + 2 * mean * slack)


def lemma5_step(*, gamma: float, entries: int) -> float:
    """The grid of Lemma 5: gamma / (2 sqrt(h)). Rounding to it moves a vector by at most gamma/4."""
    return gamma / (2 * math.sqrt(entries))


def draw_entries(vector: Array, *, gamma: float, eta: float, random: np.random.Generator) -> Array:
    """Vector-Compress as Lemma 5 uses it: few entries, which move by at most gamma/4 more when they are rounded.

        |c^.u - c.u| <= gamma/4 (small entries) + gamma/2 (Lemma 4, for gamma/2) + gamma/4 (rounding)

    Entries up to gamma / (4 sqrt(h)) are dropped before the draw. The paper drops c~_i afterwards, where |c~_i| is at
    least 2 eta gamma sqrt(h); what its proof uses is eta gamma sqrt(h) / 2, which says the same as our rule if p_i < 1.
    An entry with p_i = 1 keeps its value, however large: there a rule about c~_i would drop what matters most.
    """
    large = np.where(np.abs(vector) > gamma / (4 * math.sqrt(vector.shape[-1])), vector, 0.0)
    return compress_vector(large, gamma=gamma / 2, eta=eta, random=random)


def printed_project_count(*, gamma: float, eta: float) -> int:
    """The number of directions that Algorithm 3 prints: k = 16 ln(1/eta) / gamma^2.

    The proof of Lemma 7 claims P[|c^.u - c.u| > gamma/2] <= eta for it. For u = c, large gamma and small eta that
    fails: twice eta at gamma = 1, eta = 10^-6. The lemma itself, with gamma in place of gamma/2, holds amply.
    """
    check_gamma(gamma=gamma, eta=eta)
    return max(1, math.ceil(16 * math.log(1 / eta) / gamma**2))


def printed_project_step(*, gamma: float, entries: int, count: int) -> float:
    """The multiples that Algorithm 3 rounds z_i to: gamma / (2 sqrt(h k)).

    Lemma 7 sets gamma/2 aside for it; with |V| <= sqrt(h) + sqrt(k) it takes gamma (1/k + 1/sqrt(h k)) / 4.
    """
    return gamma / (2 * math.sqrt(entries * count))


def valid_project_count(*, gamma: float, eta: float) -> int:
    """So many directions keep |c^.u - c.u| <= gamma with probability 1 - eta, with z_i in multiples of gamma/8.

        P[|c^.u - c.u| > e before rounding] <= 4 exp(-k (e^2/4 - e^3/6)) <= 4/5 eta,   e = 7/8 gamma
        rounding by d_i: |(1/k) sum_i d_i v_i.u| <= (gamma/16) |V u| / sqrt(k) <= gamma/8   if   |V u|^2 <= 4k,
                         which fails with probability <= exp(-k (3 - ln 4) / 2) <= eta/5

    The first as `valid_count`. An eighth for rounding takes nearly the fewest bits: less makes the numbers longer,
    more takes more of them.
    """
    check_gamma(gamma=gamma, eta=eta)
    return valid_count(eps=gamma * (1 - _ROUNDING_SHARE), eta=0.8 * eta)


def valid_project_step(*, gamma: float) -> float:
    """The multiples that go with `valid_project_count`: gamma/8."""
    return gamma * _ROUNDING_SHARE


def draw_directions(kind: str, *, entries: int, count: int, seed: int) -> Array:
    """k vectors v_i from the helper stream: signs, or normal numbers as printed."""
    check_choice(kind, DIRECTIONS, where="directions")
    stream = Stream(seed, _PURPOSE)
    if kind == "signs":
        return stream.signs(0, entries * count).reshape(count, entries).astype(np.float64)
    return stream.gaussians(0, entries * count).reshape(count, entries).astype(np.float64) * GAUSSIAN_UNIT


def project_vector(vector: Array, directions: Array, *, step: float | None = None) -> Array:
    """Vector-Project (Algorithm 3): a vector given by its products with directions that both sides know.

    z_i = v_i.c, rounded to a multiple of `step` where one is given,   c^ = (1/k) sum_i z_i v_i
    """
    products = vector @ directions.T
    if step is not None:
        products = np.rint(products / step) * step
    return products @ directions / len(directions)


def check_gamma(*, gamma: float, eta: float) -> None:
    for name, value in (("gamma", gamma), ("eta", eta)):
        check_number(value, where=name, above=0, most=1)
