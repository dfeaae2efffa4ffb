"""Alpha-stable distributions fitted by regression on the empirical characteristic function (Kogon and Williams 1998).

With location 0 and scale 1 (the parametrization of stable_density), for u > 0:

    log(-log |phi(u)|) = alpha log u,   arg phi(u) = location u + beta tan(pi alpha / 2) (u^alpha - u)

so that straight lines through the empirical phi at u = 0.1, 0.2, ..., 1 give all four parameters. The numbers are
brought to location 0 and scale 1 first, by quartiles and then by earlier rounds: the method of Koutrouvelis (1980)
without its tables.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from netpact.algebra.power_law_values import as_numbers
from netpact.core.errors import PactError

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
_STEP, _POINTS = 0.1, 10
_ROUNDS = 3
_PARTS = 32  # of the numbers, each left out once for the standard errors
_FEW = 1 << 20  # numbers that the first rounds look at; the last one takes all
_BLOCK = 1 << 15  # numbers at once, in multiples of the parts
_LEAST = 50
_LEAST_ALPHA = 0.1
_NEAR = 1e-6  # to alpha = 1: the limit is taken


@dataclass(frozen=True)
class StableFit:
    """The characteristic function is that of netpact.algebra.stable_densities.

    alpha         0.1 to 2: 2 for the Gaussian; below, the density falls like w^-(alpha + 1)
    beta          -1 to 1: 0 for a symmetric one. Near alpha = 2 numbers hardly depend on it; at 2 it is 0
    scale         the Gaussian's standard deviation is sqrt(2) times this
    location
    alpha_stderr  by a jackknife over 32 parts of the numbers, which must be independent; likewise beta_stderr
    """

    alpha: float
    beta: float
    scale: float
    location: float
    alpha_stderr: float
    beta_stderr: float
    count: int

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def __repr__(self) -> str:
        alpha = f"alpha {self.alpha:.4g} +- {self.alpha_stderr:.2g}"
        beta = f"beta {self.beta:.3g} +- {self.beta_stderr:.2g}"
        return (
            f"StableFit({alpha}, {beta}, scale {self.scale:.4g}, location {self.location:.3g}, {self.count:,} numbers)"
        )


def fit_stable(values: Tensor | NDArray[np.number]) -> StableFit:
    """alpha, beta, scale and location of an alpha-stable distribution; values of both signs, of any shape."""
    numbers = as_numbers(values).ravel()
    if numbers.size < _LEAST:
        raise PactError(f"must have {_LEAST} numbers or more, got {numbers.size}", where="values")
    bad = numbers.size - sum(int(np.isfinite(part).sum()) for part in _blocks(numbers))
    if bad:
        raise PactError(f"must be finite, got {bad:,} of {numbers.size:,} that are not", where="values")
    few = numbers[:: -(-numbers.size // _FEW)]
    low, middle, high = np.quantile(few.astype(np.float64), (0.25, 0.5, 0.75))
    if low == high:
        raise PactError(f"must not have one number for half of them or more, got {low:g}", where="values")
    location, scale = float(middle), float(high - low) / 2
    for turn in range(_ROUNDS):
        parts, sizes = _characteristic(numbers if turn == _ROUNDS - 1 else few, location, scale)
        alpha, beta, width, shift = _regress(parts.sum(axis=0) / sizes.sum(), int(sizes.sum()))
        location, scale = location + scale * shift, scale * width
    without = [
        _regress((parts.sum(axis=0) - part) / (sizes.sum() - size), int(sizes.sum() - size))
        for part, size in zip(parts, sizes, strict=True)
    ]
    return StableFit(
        alpha=min(alpha, 2.0),
        beta=0.0 if alpha >= 2 else max(-1.0, min(1.0, beta)),
        scale=scale,
        location=location,
        alpha_stderr=_jackknife([each[0] for each in without]),
        beta_stderr=0.0 if alpha >= 2 else min(1.0, _jackknife([each[1] for each in without])),
        count=numbers.size,
    )


def _characteristic(numbers: NDArray[np.number], location: float, scale: float) -> tuple[Complexes, Floats]:
    """The sums of exp(i u z) over each part of the numbers, by part and u, and how many numbers each part has."""
    sums, sizes = np.zeros((_PARTS, _POINTS), dtype=np.complex128), np.zeros(_PARTS)
    for block in _blocks(numbers):
        turns = np.exp((1j * _STEP / scale) * (block.astype(np.float64) - location))
        # Every 32nd number is in one part: neighbours, which may be alike, are in different ones.
        padded = np.zeros(-(-len(turns) // _PARTS) * _PARTS, dtype=np.complex128)
        padded[: len(turns)] = turns
        sizes += np.bincount(np.arange(len(turns)) % _PARTS, minlength=_PARTS)
        turn = power = padded.reshape(-1, _PARTS)
        for place in range(_POINTS):
            sums[:, place] += power.sum(axis=0)
            power = power * turn
    return sums, sizes


def _regress(phi: Complexes, count: int) -> tuple[float, float, float, float]:
    """alpha (beyond 2 where the line says so), beta, scale and location from the empirical phi."""
    u = _STEP * np.arange(1, _POINTS + 1)
    # The squared size of a mean of n numbers on the circle is too large by (1 - |phi|^2) / n on average.
    squared = np.maximum((count * np.abs(phi) ** 2 - 1) / (count - 1), 1 / count)
    alpha, level = np.polyfit(np.log(u), np.log(-np.log(squared) / 2), 1)
    alpha = max(float(alpha), _LEAST_ALPHA)
    scale = math.exp(float(level) / alpha)
    own = min(alpha, 2.0)
    scaled = scale * u
    if own == 2:
        bend = np.zeros_like(u)
    elif abs(own - 1) < _NEAR:
        bend = -2 / math.pi * scaled * np.log(scaled)
    else:
        bend = math.tan(math.pi * own / 2) * (scaled**own - scaled)
    lines = np.stack([u, bend], axis=1) if bend.any() else u[:, None]
    found = np.linalg.lstsq(lines, np.unwrap(np.angle(phi)), rcond=None)[0]
    return alpha, float(found[1]) if len(found) > 1 else 0.0, scale, float(found[0])


def _jackknife(estimates: list[float]) -> float:
    spread = np.array(estimates) - np.mean(estimates)
    return math.sqrt((len(estimates) - 1) / len(estimates) * float((spread**2).sum()))


def _blocks(numbers: NDArray[np.number]) -> list[NDArray[np.number]]:
    return [numbers[start : start + _BLOCK] for start in range(0, numbers.size, _BLOCK)]
