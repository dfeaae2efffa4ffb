"""The table of bounds: what each is called, where it stands, what it ignores, what it asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from netpact.bounds import arora, baselines, linear, premises
from netpact.bounds.estimate import Premise
from netpact.bounds.facts import Facts

_CONSTANTS = ("constants", "log factors")
_FIGURE = (*_CONSTANTS, "depth factors", "the norm of the inputs")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One bound.

    log_capacity  ln of C in L_gamma + sqrt(C/m)
    measured      needs the measurements of Arora et al. 2018, not only the weights
    uses_margin   L_gamma and gamma are in it; otherwise L_0
    asks          the premises, checked on these numbers
    refuses       why it says nothing about this network; empty where it does
    """

    theorem: str
    log_capacity: Callable[[Facts], float]
    ignored: tuple[str, ...]
    measured: bool = False
    uses_margin: bool = True
    asks: Callable[[Facts], tuple[Premise, ...]]
    refuses: Callable[[Facts], str] = premises.refuse_nothing


def count_bits(facts: Facts) -> float:
    """Theorem 2.1 for the network itself, q parameters of r = 2^32 values: C = (q ln r + ln(1/delta)) / 2."""
    return math.log(0.5 * (facts.parameters * 32 * math.log(2.0) - math.log(facts.delta)))


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "theorem-2.1": Rule(
            theorem="Arora et al. 2018, Theorem 2.1, every parameter one of 2^32 values",
            log_capacity=count_bits,
            ignored=(),
            uses_margin=False,
            asks=premises.of_counting,
        ),
        "parameters": Rule(
            theorem="the number of parameters",
            log_capacity=baselines.parameters,
            ignored=_CONSTANTS,
            uses_margin=False,
            asks=premises.of_counting,
        ),
        "vc": Rule(
            theorem="W d log2 W: Bartlett et al. 2019, Theorem 7",
            log_capacity=baselines.vapnik_chervonenkis,
            ignored=("constants", "more than two classes"),
            uses_margin=False,
            asks=premises.of_counting,
        ),
        "l1-inf": Rule(
            theorem="Bartlett and Mendelson 2002",
            log_capacity=baselines.l1_inf,
            ignored=_FIGURE,
            asks=premises.of_a_plain_chain,
        ),
        "frobenius": Rule(
            theorem="Neyshabur, Tomioka and Srebro 2015",
            log_capacity=baselines.frobenius,
            ignored=_FIGURE,
            asks=premises.of_a_plain_chain,
        ),
        "spec-l1-2": Rule(
            theorem="Bartlett et al. 2017 as read in Arora et al. 2018, Figure 2",
            log_capacity=baselines.spec_l1_2,
            ignored=_FIGURE,
            asks=premises.of_a_plain_chain,
        ),
        "bartlett-2017": Rule(
            theorem="Bartlett, Foster and Telgarsky 2017, Theorem 1.1",
            log_capacity=baselines.bartlett_2017,
            ignored=(*_CONSTANTS, "the norm of the inputs"),
            asks=premises.of_a_plain_chain,
        ),
        "spec-fro": Rule(
            theorem="Neyshabur, Bhojanapalli and Srebro 2017",
            log_capacity=baselines.spec_fro,
            ignored=_FIGURE,
            asks=premises.of_a_plain_chain,
        ),
        "theorem-2.2": Rule(
            theorem="Arora et al. 2018, Theorem 2.2 with |x|^2 as in A.3",
            log_capacity=baselines.theorem_2_2,
            ignored=_CONSTANTS,
            asks=premises.of_a_plain_chain,
        ),
        "figure-2": Rule(
            theorem="Arora et al. 2018, Figure 2 and Table 1",
            log_capacity=arora.figure_2,
            ignored=(*_CONSTANTS, "depth factors"),
            measured=True,
            asks=premises.of_shared_filters,
        ),
        "theorem-4.1": Rule(
            theorem="Arora et al. 2018, Theorem 4.1",
            log_capacity=arora.theorem_4_1,
            ignored=_CONSTANTS,
            measured=True,
            asks=premises.of_stability,
            refuses=premises.refuse_convolutions,
        ),
        "theorem-5.1": Rule(
            theorem="Arora et al. 2018, Theorem 5.1",
            log_capacity=arora.theorem_5_1,
            ignored=_CONSTANTS,
            measured=True,
            asks=premises.of_shared_filters,
        ),
        "lemma-3": Rule(
            theorem="Arora et al. 2018, Lemma 3 with counts that its proof bears",
            log_capacity=arora.lemma_3_valid,
            ignored=("how many values a coefficient has",),
            measured=True,
            asks=premises.of_stability,
            refuses=premises.refuse_convolutions,
        ),
        "lemma-3-printed": Rule(
            theorem="Arora et al. 2018, Lemma 3 as printed",
            log_capacity=arora.lemma_3_printed,
            ignored=("how many values a coefficient has", "that its k is too small (docs/papers/arora.md)"),
            measured=True,
            asks=premises.of_stability,
            refuses=premises.refuse_convolutions,
        ),
        "lemma-6": Rule(
            theorem="Arora et al. 2018, Lemma 6 (Vector-Compress)",
            log_capacity=linear.lemma_6,
            ignored=_CONSTANTS,
            asks=premises.of_counting,
            refuses=premises.refuse_depth,
        ),
        "lemma-8": Rule(
            theorem="Arora et al. 2018, Lemma 8 (Vector-Project)",
            log_capacity=linear.lemma_8,
            ignored=_CONSTANTS,
            asks=premises.of_counting,
            refuses=premises.refuse_depth,
        ),
    }
)
