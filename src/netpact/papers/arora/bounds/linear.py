"""The rates for linear classifiers, Lemmas 6 and 8, up to constants and logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from netpact.bounds.bound import BOUNDS
from netpact.bounds.facts import Facts
from netpact.bounds.groups import CONSTANTS, COUNTING
from netpact.bounds.logs import capacity_of
from netpact.core.checks import check_integer
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


def capacity(facts: Facts, *, rate: Callable[..., float]) -> float:
    found = rate(margin=normalised_margin(facts), samples=facts.samples, classes=facts.classes)
    return capacity_of(found, samples=facts.samples)


def refuse_depth(facts: Facts) -> str:
    fits = facts.depth == 1 and facts.is_fully_connected
    return "" if fits else f"it is about linear classifiers, and this network has {facts.depth} weight layers"


def _check(margin: float, samples: int) -> None:
    if not margin > 0:
        raise PactError(f"must be above 0, got {margin!r}", where="margin")
    check_integer(samples, where="samples", least=1)


_RATE = partial(
    COUNTING, needs=("norms", "gamma", "input_norm", "samples", "classes"), ignored=CONSTANTS, refuses=refuse_depth
)
_COMPRESS, _PROJECT = partial(capacity, rate=vector_compress_rate), partial(capacity, rate=vector_project_rate)
BOUNDS.add(_RATE("arora-lemma-6", "Arora et al. 2018, Lemma 6 (Vector-Compress)", _COMPRESS, former="lemma-6"))
BOUNDS.add(_RATE("arora-lemma-8", "Arora et al. 2018, Lemma 8 (Vector-Project)", _PROJECT, former="lemma-8"))
