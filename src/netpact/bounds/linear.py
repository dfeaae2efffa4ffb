"""The rates for linear classifiers (Arora et al. 2018, Lemmas 6 and 8), up to constants and logarithms."""

from __future__ import annotations

import math

from netpact.bounds.facts import Facts
from netpact.core.errors import PactError


def vector_compress_rate(*, margin: float, samples: int, classes: int = 1) -> float:
    """What Vector-Compress (Algorithm 2) adds to the training error, Lemma 6:

        (classes^2 / (margin^2 m))^(1/3)

    margin is that of a unit vector on unit inputs. Each row of a classifier with several is compressed by itself and
    fails on a share eta of the samples:  classes eta + sqrt(classes / (eta margin^2 m)),  least at the eta taken here.
    """
    _check(margin, samples)
    return (classes**2 / (margin**2 * samples)) ** (1.0 / 3.0)


def vector_project_rate(*, margin: float, samples: int, classes: int = 1) -> float:
    """What Vector-Project (Algorithm 3, with a helper string) adds to the training error, Lemma 8:

    sqrt(classes / (margin^2 m))
    """
    _check(margin, samples)
    return math.sqrt(classes / (margin**2 * samples))


def normalised_margin(facts: Facts) -> float:
    """gamma for unit rows and unit inputs; the bias is one more weight, on an input that is always 1.

        gamma / (2 max_j |(w_j, b_j)| sqrt(max|x|^2 + 1))

    The 2 is that of the sup norm: each of two logits may move.
    """
    row = facts.norms[0].largest_row
    return facts.gamma / (2.0 * row * math.hypot(facts.input_norm, 1.0)) if row else math.inf


def lemma_6(facts: Facts) -> float:
    """ln of the capacity C with sqrt(C/m) = the rate of Lemma 6."""
    margin = normalised_margin(facts)
    rate = vector_compress_rate(margin=margin, samples=facts.samples, classes=facts.classes)
    return 2.0 * math.log(rate) + math.log(facts.samples) if rate else -math.inf


def lemma_8(facts: Facts) -> float:
    """ln of the capacity C with sqrt(C/m) = the rate of Lemma 8."""
    rate = vector_project_rate(margin=normalised_margin(facts), samples=facts.samples, classes=facts.classes)
    return 2.0 * math.log(rate) + math.log(facts.samples) if rate else -math.inf


def _check(margin: float, samples: int) -> None:
    if not margin > 0 or samples < 1:
        raise PactError(f"a margin above 0 and samples from 1 are needed, got {margin!r}, {samples!r}", where="rate")
