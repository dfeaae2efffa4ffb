"""One layer: power laws of its weights and of its eigenvalues, a stable distribution of its weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from netpact.algebra import PowerLawFit, StableFit, TailComparison, fit_stable, power_law_p_value
from netpact.algebra.power_law import fit_distinct
from netpact.algebra.power_law_tails import compare_distinct
from netpact.algebra.power_law_values import DistinctValues, sort_values
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.measurements.tails.eigenvalues import Spectrum
from netpact.measurements.tails.records import TailFit

_LEAST = 10  # numbers: with fewer there is no tail to speak of
_DRAWN = 200


def fit_weights(weight: Tensor, *, repeats: int, seed: Seed, progress: Progress | None = None) -> TailFit:
    """The power law of the magnitudes of the weights that are not 0."""
    sizes = weight.detach().flatten().abs()
    sizes = sizes[sizes > 0]
    return _fit(sizes, zeros=weight.numel() - len(sizes), repeats=repeats, seed=seed, progress=progress)


def fit_spectrum(spectrum: Spectrum, *, repeats: int, seed: Seed) -> TailFit:
    """The power law of the eigenvalues of W^T W that are not 0."""
    return _fit(spectrum.values, zeros=spectrum.zeros, repeats=repeats, seed=seed)


def fit_signed(weight: Tensor) -> StableFit:
    return fit_stable(weight.detach())


def _fit(
    values: Tensor | NDArray[np.float64], *, zeros: int, repeats: int, seed: Seed, progress: Progress | None = None
) -> TailFit:
    if len(values) < _LEAST:
        raise PactError(f"{_LEAST} numbers that are not 0 are needed, there are {len(values)}", where="tail")
    distinct = sort_values(values)
    if len(distinct.values) < 2:
        raise PactError(f"all {distinct.total:,} numbers are {distinct.values[0]:g}", where="tail")
    fit = fit_distinct(distinct, None, progress=progress)
    p_value = power_law_p_value(values, fit, repeats=repeats, seed=seed) if repeats else None
    tenth = _compare_tenth(distinct, fit)
    return TailFit(fit, compare_distinct(distinct, fit), tenth, p_value, zeros, _thin(distinct, fit))


def _compare_tenth(distinct: DistinctValues, fit: PowerLawFit) -> dict[str, TailComparison]:
    """The largest tenth of the numbers, or nothing where the tail is as long, or the tenth hardly anything."""
    wanted = fit.count // 10
    if fit.tail_count >= wanted or wanted < _LEAST:
        return {}
    start = float(distinct.values[np.searchsorted(-distinct.at_least, -wanted, side="right") - 1])
    if start == distinct.values[-1]:
        return {}
    return compare_distinct(distinct, fit_distinct(distinct, start))


def _thin(distinct: DistinctValues, fit: PowerLawFit) -> tuple[tuple[float, float], ...]:
    """The share of the numbers that are at least as large, at places that are evenly spread over its logarithm."""
    shares = distinct.at_least[:-1] / fit.count
    wanted = np.geomspace(1, 1 / fit.count, _DRAWN)
    places = np.unique(np.minimum(np.searchsorted(-shares, -wanted), len(shares) - 1))
    return tuple((float(distinct.values[place]), float(shares[place])) for place in places)
