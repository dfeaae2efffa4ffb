"""Neyshabur, Tomioka and Srebro 2015; Neyshabur, Bhojanapalli and Srebro 2017 (a PAC-Bayesian approach)."""

from __future__ import annotations

from netpact.bounds.bound import BOUNDS
from netpact.bounds.facts import Facts
from netpact.bounds.groups import NORM_BASED, log_norm_product, log_spectral
from netpact.bounds.logs import log


def frobenius(facts: Facts) -> float:
    """(1/gamma^2) prod_i |A_i|_F^2"""
    return log_norm_product((layer.frobenius for layer in facts.norms), gamma=facts.gamma)


def spec_fro(facts: Facts) -> float:
    """As in Figure 2 of Arora et al. 2018.

    (1/gamma^2) prod_i |A_i|_2^2 sum_i h_i |A_i|_F^2 / |A_i|_2^2
    """
    return log_spectral(facts, lambda layer: log(layer.outputs) + 2 * log(layer.frobenius))


BOUNDS.add(NORM_BASED("neyshabur-2015", "Neyshabur, Tomioka and Srebro 2015", frobenius, former="frobenius"))
BOUNDS.add(NORM_BASED("neyshabur-2017", "Neyshabur, Bhojanapalli and Srebro 2017", spec_fro, former="spec-fro"))
