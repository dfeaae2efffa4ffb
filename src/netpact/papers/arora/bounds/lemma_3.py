"""Lemma 3: how many parameters random projection needs, at the accuracy of Lemma 10."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from netpact.bounds.bound import BOUNDS
from netpact.bounds.facts import Facts
from netpact.bounds.premises import refuse_convolutions
from netpact.papers.arora.lemma_3 import accuracy_for_gamma, log_printed_parameters, log_valid_parameters
from netpact.papers.arora.stability import MEASURED


def count_parameters(facts: Facts, *, count: Callable[..., float]) -> float:
    eps = accuracy_for_gamma(facts.gamma, output_norm=facts.output_norm)
    return count(facts.stability, samples=facts.samples, eps=eps, delta=facts.delta)


_LEMMA_3 = partial(
    MEASURED, needs=("stability", "samples", "output_norm", "gamma", "delta"), refuses=refuse_convolutions
)
BOUNDS.add(
    _LEMMA_3(
        "arora-lemma-3",
        "Arora et al. 2018, Lemma 3 with counts that its proof bears",
        partial(count_parameters, count=log_valid_parameters),
        ignored=("how many values a coefficient has",),
        former="lemma-3",
    )
)
BOUNDS.add(
    _LEMMA_3(
        "arora-lemma-3-printed",
        "Arora et al. 2018, Lemma 3 as printed",
        partial(count_parameters, count=log_printed_parameters),
        ignored=("how many values a coefficient has", "that its k is too small (docs/papers/arora.md)"),
        former="lemma-3-printed",
    )
)
