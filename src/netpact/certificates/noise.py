"""From a bound on the error under noisy labels to one on the error under clean labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

from netpact.core.checks import check_choice, check_integer, check_number, plain
from netpact.core.errors import PactError


def clean_risk_bound(bound: float, *, kind: str, rate: float, classes: int) -> float:
    """What the risk under clean labels does not exceed, where `bound` bounds the risk under noisy ones.

    Each label was changed with probability eta = rate, independently of everything else but the label itself.
    Let c be the clean risk of a classifier h, k the number of classes.

    symmetric   to each of the k - 1 other classes alike. Where h is right, noise makes it wrong with probability eta;
                where h is wrong, noise makes it right with probability eta/(k-1). So
                    noisy = (1 - c) eta + c (1 - eta/(k-1)),    c = (noisy - eta) / (1 - eta k/(k-1)),  eta < (k-1)/k
    pair-flip   to the next class. Where h is wrong, noise makes it right with probability eta at most, and never where
                h names another class than the next one. So
                    noisy >= (1 - c) eta + c (1 - eta),         c <= (noisy - eta) / (1 - 2 eta),       eta < 1/2

    Both grow with noisy, so an upper bound may stand in its place. Exact in rationals, rounded up, at most 1.
    The result holds as surely as the bound does, if kind and rate are what really happened to the labels.
    """
    noisy = check_number(plain(bound), where="bound", least=0, most=1)
    eta = check_number(plain(rate), where="rate", least=0, most=1)
    k = check_integer(plain(classes), where="classes", least=2)
    check_choice(kind, _KEPT, where="kind")
    kept = _KEPT[kind](Fraction(eta), k)
    if kept <= 0:
        most = "1/2" if kind == "pair-flip" else f"{k - 1}/{k}"
        raise PactError(
            f"{kind} noise says something about clean labels only below a rate of {most}, got {eta!r}", where="rate"
        )
    if noisy < eta:
        # No classifier's noisy risk is below the rate: answering 0 would pass a broken premise on as a proof.
        raise PactError(
            f"a risk below the rate of noise is impossible: {noisy!r} < {eta!r}",
            where="bound",
            hint="the rate is not the true one, or the bound does not hold for this sample (probability delta)",
        )
    return min(1.0, _round_up((Fraction(noisy) - Fraction(eta)) / kept))


def _round_up(number: Fraction) -> float:
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)


# How much of the clean risk the noise leaves: the denominator above.
_KEPT: Mapping[str, Callable[[Fraction, int], Fraction]] = MappingProxyType(
    {"symmetric": lambda eta, k: 1 - eta * Fraction(k, k - 1), "pair-flip": lambda eta, k: 1 - 2 * eta}
)
