"""Lemma 3: how many parameters random projection needs, at the accuracy of Lemma 10."""

from __future__ import annotations

from dataclasses import replace

from netpact.bounds.bound import BOUNDS, Bound
from netpact.bounds.facts import Facts
from netpact.bounds.premises import refuse_convolutions
from netpact.papers.arora.lemma_3 import accuracy_for_gamma, log_printed_parameters, log_valid_parameters
from netpact.papers.arora.stability import CushionOptions, effective_parameters, of_stability, some_samples


def valid(facts: Facts) -> float:
    """With the counts that the proof needs."""
    eps = accuracy_for_gamma(facts.gamma, output_norm=facts.output_norm)
    return log_valid_parameters(facts.stability, samples=facts.samples, eps=eps, delta=facts.delta)


def printed(facts: Facts) -> float:
    """With its own constant; the k = ln(1/eta)/eps^2 behind it is too small."""
    eps = accuracy_for_gamma(facts.gamma, output_norm=facts.output_norm)
    return log_printed_parameters(facts.stability, samples=facts.samples, eps=eps, delta=facts.delta)


_VALID = BOUNDS.add(
    Bound(
        name="arora-lemma-3",
        theorem="Arora et al. 2018, Lemma 3 with counts that its proof bears",
        needs=("stability", "samples", "output_norm", "gamma", "delta"),
        log_capacity=valid,
        ignored=("how many values a coefficient has",),
        premises=of_stability,
        refuses=refuse_convolutions,
        sampling=some_samples,
        layers=effective_parameters,
        options=(CushionOptions,),
        former="lemma-3",
    )
)
BOUNDS.add(
    replace(
        _VALID,
        name="arora-lemma-3-printed",
        theorem="Arora et al. 2018, Lemma 3 as printed",
        log_capacity=printed,
        ignored=("how many values a coefficient has", "that its k is too small (docs/papers/arora.md)"),
        former="lemma-3-printed",
    )
)
