"""Densities of alpha-stable distributions, by the Fourier integral along a ray on which nothing oscillates for long.

With location 0 and scale 1 the characteristic function is, for t > 0 (Nolan's parametrization 0, which has no jump at
alpha = 1; Shin 2021, footnote 3),

    phi(t) = exp(-t^alpha - i beta tan(pi alpha / 2) (t - t^alpha))

and the density 1/pi Re of the integral of exp(-i x t) phi(t) over t > 0. Both factors are analytic: the path is turned
to t = r exp(-i psi), where exp(-i x t) falls with r, too. With r = exp(u) the trapezoidal rule in u converges
exponentially.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gamma

from netpact.core.checks import check_number
from netpact.core.errors import PactError, wrong_kind

Floats = NDArray[np.float64]
_LEAST_ALPHA = 0.1  # below, densities have a peak that is narrower than floats near it
_DIGITS = 36.0  # exp(-36) is below the last digit of a float
_FAR = 1.0  # from here on, 1 is taken from phi: exp(-i x t) alone gives 0, and no digits cancel
_NODES = 1 << 20  # nodes times places at once


def stable_density(
    x: ArrayLike, *, alpha: float, beta: float = 0.0, scale: float = 1.0, location: float = 0.0
) -> Floats:
    """The density at each x. alpha = 2 is the Gaussian with variance 2 scale^2, alpha = 1 the Cauchy distribution.

    alpha  0.1 to 2
    beta   -1 to 1; at alpha = 1 only 0
    """
    check_stable(alpha, beta, scale, location)
    if alpha == 1 and beta != 0:
        raise PactError(
            "must be 0 where alpha is 1", where="beta", hint="take an alpha beside 1: the limit is the same"
        )
    try:
        places = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise wrong_kind(x, needed="numbers", where="x") from None
    if np.isnan(places).any():
        raise PactError("must not be NaN", where="x")
    skew = 0.0 if alpha in (1, 2) else beta * math.tan(math.pi * alpha / 2)
    # Parametrization 1, in which phi(t) = exp(-t^alpha (1 - i skew)): the same, moved.
    moved = (places.ravel() - location) / scale + skew
    found = np.zeros_like(moved)
    for side in (1, -1):
        there = np.isfinite(moved) & (moved >= 0 if side > 0 else moved < 0)
        for near in (True, False):
            chosen = there & ((np.abs(moved) < _FAR) == near)
            if chosen.any():
                found[chosen] = _integrate(np.abs(moved[chosen]), alpha, side * skew, near=near)
    return found.reshape(places.shape) / scale


def stable_tail_constant(alpha: float) -> float:
    """c_alpha = sin(pi alpha / 2) Gamma(alpha) / pi: the density falls like alpha c_alpha scale^alpha w^-(alpha+1).

    For beta = 0 (Shin 2021, eq. 12; Nolan 2009, Theorem 1.12). 0 at alpha = 2, which has no such tail.
    """
    check_number(alpha, where="alpha", above=0, most=2)
    return 0.0 if alpha == 2 else math.sin(math.pi * alpha / 2) * float(gamma(alpha)) / math.pi


def check_stable(alpha: float, beta: float, scale: float, location: float) -> None:
    check_number(alpha, where="alpha", least=_LEAST_ALPHA, most=2)
    check_number(beta, where="beta", least=-1, most=1)
    check_number(scale, where="scale", above=0)
    check_number(location, where="location")


def _integrate(x: Floats, alpha: float, skew: float, *, near: bool) -> Floats:
    """For x >= 0; near: below _FAR, x may be 0."""
    turned = math.atan(skew)
    # exp(-i x t) falls for angles psi from 0 to pi / 2, phi where |alpha psi + turned| < pi / 2: the middle of both.
    psi = min(math.pi / 2, (math.pi / 2 - turned) / alpha) / 2
    step = 2 * math.pi * psi / _DIGITS
    falling = math.cos(alpha * psi + turned) * math.hypot(1, skew)  # of -log |phi| = falling r^alpha
    last = math.log(2 * _DIGITS / falling) / alpha
    first = -_DIGITS if near else -_DIGITS / (1 + alpha) - math.log(float(x.max()))
    if not near:  # phi - 1 does not fall, exp(-i x t) does
        last = math.log(2 * _DIGITS / (float(x.min()) * math.sin(psi)))
    u = np.arange(first, last + step, step)
    ray = np.exp(u - 1j * psi)
    decay = -(ray**alpha) * (1 - 1j * skew)
    weights = step * ray * (np.exp(decay) if near else np.expm1(decay)) / math.pi
    found = np.empty_like(x)
    block = max(1, _NODES // len(u))
    for start in range(0, len(x), block):
        part = x[start : start + block]
        found[start : start + block] = (np.exp(-1j * np.multiply.outer(part, ray)) @ weights).real
    return np.maximum(found, 0.0)
