"""Neyshabur, Tomioka and Srebro 2015; Neyshabur, Bhojanapalli and Srebro 2017 (a PAC-Bayesian approach)."""

from __future__ import annotations

from dataclasses import replace

from netpact.bounds.bound import BOUNDS, Bound
from netpact.bounds.facts import Facts
from netpact.bounds.logs import log
from netpact.bounds.options import NormOptions
from netpact.bounds.premises import plain_chain
from netpact.bounds.spectral import FIGURE, NEEDED, log_norm_product, log_spectral


def frobenius(facts: Facts) -> float:
    """(1/gamma^2) prod_i |A_i|_F^2"""
    return log_norm_product((layer.frobenius for layer in facts.norms), gamma=facts.gamma)


def spec_fro(facts: Facts) -> float:
    """As in Figure 2 of Arora et al. 2018.

    (1/gamma^2) prod_i |A_i|_2^2 sum_i h_i |A_i|_F^2 / |A_i|_2^2
    """
    return log_spectral(facts, lambda layer: log(layer.outputs) + 2 * log(layer.frobenius))


_FROBENIUS = BOUNDS.add(
    Bound(
        name="neyshabur-2015",
        theorem="Neyshabur, Tomioka and Srebro 2015",
        needs=NEEDED,
        log_capacity=frobenius,
        ignored=FIGURE,
        premises=plain_chain,
        options=(NormOptions,),
        former="frobenius",
    )
)
BOUNDS.add(
    replace(
        _FROBENIUS,
        name="neyshabur-2017",
        theorem="Neyshabur, Bhojanapalli and Srebro 2017",
        log_capacity=spec_fro,
        former="spec-fro",
    )
)
