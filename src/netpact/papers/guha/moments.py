"""Lemma 4.1: what Algorithm 1 takes from an entry of a matrix, of normal weights and of given ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from netpact.core.checks import check_number
from netpact.core.errors import PactError

_AT_ONCE = 1 << 20  # entries in float64 at a time


@dataclass(frozen=True)
class Moments:
    """Of Delta = A^ - A at one entry, on average: kept = P[Delta = 0], second = E[Delta^2], fourth = E[Delta^4]."""

    kept: float
    second: float
    fourth: float


def normal_moments(*, scale: float, variance: float) -> Moments:
    """Lemma 4.1, for weights drawn from N(0, Psi), d the scale of Algorithm 1:

        chi = 1 - s^(1/2),   E[Delta^2] = s^(3/2) Psi,   E[Delta^4] = 3 s^(5/2) Psi^2,   s = d / (d + 2)

    chi is from Lemma 5.1, whose equation (11) has it as the share that is pruned; the integral there is 1 - chi.
    """
    check_number(scale, where="scale", above=0)
    check_number(variance, where="variance", least=0)
    share = scale / (scale + 2)
    # 1 - sqrt(share) without cancellation, for scales of any size.
    chi = (2 / (scale + 2)) / (1 + math.sqrt(share))
    return Moments(chi, share**1.5 * variance, 3 * share**2.5 * variance**2)


def weight_variance(weight: Tensor) -> float:
    """Psi: the variance of a layer's weights about their mean, as netpact.RandomPrune has it."""
    return _central(weight)[1]


def kurtosis(weight: Tensor) -> float:
    """The fourth central moment over the squared variance: 3 for normal weights."""
    _, variance, fourth = _central(weight)
    return fourth / variance**2 if variance else math.nan


def expected_moments(weight: Tensor, *, scale: float) -> Moments:
    """The same for given weights: means over the entries, and over all masks, of what Algorithm 1 does to them.

        kept = 1 - mean p,   second = mean w^2 p,   fourth = mean w^4 p,   p = exp(-w^2 / (d Psi))

    Nothing is drawn. The diagonal counts like every other entry, as in the lemma.
    """
    check_number(scale, where="scale", above=0)
    variance = weight_variance(weight)
    if not variance:
        raise PactError("all weights are the same, and Algorithm 1 divides by their variance", where="weight")
    sums = torch.zeros(3, dtype=torch.float64)
    for part in weight.detach().flatten().split(_AT_ONCE):
        squares = part.double().square()
        exponent = squares / -(scale * variance)
        pruned = torch.exp(exponent)
        sums += torch.stack([-torch.expm1(exponent).sum(), squares @ pruned, squares.square() @ pruned])
    return Moments(*(sums / weight.numel()).tolist())


def _central(weight: Tensor) -> tuple[float, float, float]:
    """Mean, variance and fourth central moment, in blocks."""
    parts = weight.detach().flatten().split(_AT_ONCE)
    mean = math.fsum(float(part.double().sum()) for part in parts) / weight.numel()
    second = math.fsum(float((part.double() - mean).square().sum()) for part in parts)
    fourth = math.fsum(float((part.double() - mean).pow(4).sum()) for part in parts)
    return mean, second / weight.numel(), fourth / weight.numel()
