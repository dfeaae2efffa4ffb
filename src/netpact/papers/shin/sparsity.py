"""Proposition 1.2 and equations (11), (15): how many entries of a power-law matrix lie above a threshold."""

from __future__ import annotations

import math

from scipy.special import bdtrc

from netpact.core.checks import check_integer, check_number
from netpact.papers.shin.spiked import check_threshold


def share_above(alpha: float, *, lowest: float = 1.0, tau: float) -> float:
    """(5): the chance that an entry is kept, (lowest / tau)^alpha; heavier tails keep more."""
    check_threshold(alpha, lowest=lowest, tau=tau)
    return (lowest / tau) ** alpha


def chance_of_more(count: float, *, entries: int, share: float) -> float:
    """(6): a bound on P[X >= count] for X binomial, by Chernoff: 1 where count <= entries * share.

    (n p / k)^k ((1 - p) / (1 - k/n))^(n - k)
    """
    check_integer(entries, where="entries", least=1)
    check_number(share, where="share", least=0, most=1)
    check_number(count, where="count", least=0)
    if count <= entries * share:
        return 1.0
    if count > entries or share == 0:
        return 0.0
    part = count / entries
    exponent = part * math.log(part / share)
    if part < 1:
        exponent += (1 - part) * math.log((1 - part) / (1 - share))
    return math.exp(-entries * exponent)


def exact_chance(count: float, *, entries: int, share: float) -> float:
    """P[X >= count] itself."""
    if count <= 0:
        return 1.0
    return 0.0 if count > entries else float(bdtrc(math.ceil(count) - 1, entries, share))


def most_kept(*, entries: int, share: float, eta: float) -> int:
    """The number that is not reached but with probability eta, by (6): the least k whose bound is at most eta."""
    check_number(eta, where="eta", above=0, below=1)
    low, high = math.ceil(entries * share), entries + 1  # P[X >= entries + 1] is 0
    while low < high:
        middle = (low + high) // 2
        if chance_of_more(middle, entries=entries, share=share) <= eta:
            high = middle
        else:
            low = middle + 1
    return low
