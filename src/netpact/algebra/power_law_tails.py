"""Other tails beside a power law: exponential, Laplace, log-normal, Gaussian, each cut off below xmin."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc
from torch import Tensor

from netpact.algebra.power_law import PowerLawFit, fit_distinct
from netpact.algebra.power_law_normal import fit_cut_normal, fit_half_normal, log_density
from netpact.algebra.power_law_values import DistinctValues, Floats, log_ratio, sort_values
from netpact.core.checks import check_instance
from netpact.core.errors import PactError
from netpact.core.json import finite


@dataclass(frozen=True)
class TailComparison:
    """A power law against another tail, both of maximum likelihood on the same numbers >= xmin.

    ratio             log-likelihood of the power law less that of the other: above 0, the power law is nearer
    normalized_ratio  ratio / (sqrt(n) s), s the standard deviation of a number's part in it; 0 where s = 0
    p_value           how often chance alone makes the ratio this far from 0, if both are equally near (Vuong 1989);
                      where nested: how often it makes it this far below 0, if the power law is true
    log_likelihood    of the other tail
    nested            whether the power law is a limit of the other, so that the ratio is never above 0
    parameters        of the other tail: scale, sigma, or mu and sigma of log w
    """

    name: str
    ratio: float
    normalized_ratio: float
    p_value: float
    log_likelihood: float
    nested: bool
    parameters: dict[str, float]

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "parameters": {name: finite(number) for name, number in self.parameters.items()}}

    def __repr__(self) -> str:
        ratio = f"ratio {self.ratio:.4g}, normalized {self.normalized_ratio:.3g}"
        return f"TailComparison(power law against {self.name}: {ratio}, p-value {self.p_value:.3g})"


@dataclass(frozen=True, eq=False)
class _Tail:
    """Distinct numbers of a tail. Lengths are in units of the largest number: their squares are floats, too."""

    unit: float
    start: float  # xmin / unit
    excess: Floats  # (w - xmin) / unit
    log_xmin: float
    logs: Floats  # log(w / xmin)
    shares: Floats  # of the numbers, with sum 1
    power_law: Floats  # its log density, with respect to log w

    def mean(self, numbers: Floats) -> float:
        return float((numbers * self.shares).sum())


_Fitted = tuple[Floats, dict[str, float]]  # log density with respect to log w, parameters


def compare_tails(values: Tensor | NDArray[np.number], fit: PowerLawFit) -> dict[str, TailComparison]:
    """By name: exponential, laplace, log-normal, gaussian; values are those that fit_power_law was given.

    Numbers are taken for magnitudes: the Laplace and the Gaussian distribution are those with mean 0. The tail of the
    former is an exponential one, so these two agree.
    """
    return compare_distinct(sort_values(values), fit)


def compare_distinct(distinct: DistinctValues, fit: PowerLawFit) -> dict[str, TailComparison]:
    """compare_tails of numbers that are sorted already."""
    found = tail_of_fit(distinct, fit)
    if len(found.values) < 2:
        raise PactError(f"must have two different numbers or more >= xmin = {fit.xmin:g}", where="values")
    tail = _describe(found, fit)
    return {name: _compare(name, tail, found) for name in TAILS}


def tail_of_fit(distinct: DistinctValues, fit: PowerLawFit) -> DistinctValues:
    """The numbers >= fit.xmin, if the fit can be of these numbers."""
    check_instance(fit, PowerLawFit, where="fit", hint="fit_power_law(values) gives one")
    tail = distinct.tail(fit.xmin)
    if (fit.count, fit.tail_count) != (distinct.total, tail.total):
        told = f"{tail.total:,} of {distinct.total:,} values are >= its xmin, not {fit.tail_count:,} of {fit.count:,}"
    elif not math.isclose(fit.alpha, alpha := fit_distinct(distinct, fit.xmin).alpha, rel_tol=1e-9):
        told = f"they have alpha {alpha:.6g} from its xmin on, not {fit.alpha:.6g}"
    else:
        return tail
    raise PactError(f"must be the fit of these values: {told}", where="fit", hint="use fit_power_law(values)")


def _describe(distinct: DistinctValues, fit: PowerLawFit) -> _Tail:
    unit, logs, exponent = float(distinct.values[-1]), log_ratio(distinct.values, fit.xmin), fit.alpha - 1
    return _Tail(
        unit=unit,
        start=fit.xmin / unit,
        excess=(distinct.values - fit.xmin) / unit,
        log_xmin=math.log(fit.xmin),
        logs=logs,
        shares=distinct.counts / distinct.total,
        power_law=math.log(exponent) - exponent * logs,
    )


def _compare(name: str, tail: _Tail, distinct: DistinctValues) -> TailComparison:
    logarithms, parameters = TAILS[name](tail)
    n, nested = distinct.total, name in NESTED
    parts = tail.power_law - logarithms
    mean = tail.mean(parts)
    deviation = math.sqrt(tail.mean((parts - mean) ** 2))
    normalized = math.sqrt(n) * mean / deviation if deviation else 0.0
    if not nested:
        p_value = erfc(abs(normalized) / math.sqrt(2))
    else:  # -2 ratio is 0 or chi-squared with one degree of freedom, each half of the time (Self and Liang 1987)
        p_value = erfc(math.sqrt(-n * mean)) / 2 if mean < 0 else 1.0
    likelihood = n * tail.mean(logarithms - tail.log_xmin - tail.logs)
    return TailComparison(name, n * mean, normalized, float(p_value), likelihood, nested, parameters)


def _exponential(tail: _Tail) -> _Fitted:
    """exp(-(w - xmin) / scale) / scale"""
    scale = tail.mean(tail.excess)
    logarithms = -tail.excess / scale - math.log(scale)
    return logarithms + _log_lengths(tail), {"scale": scale * tail.unit}


def _gaussian(tail: _Tail) -> _Fitted:
    """exp(-w^2 / (2 sigma^2)), over its integral from xmin on"""
    sigma = fit_half_normal(tail.mean(tail.excess * (tail.excess + 2 * tail.start)), tail.start)
    logarithms = log_density(tail.excess / sigma, tail.start / sigma) - math.log(sigma)
    return logarithms + _log_lengths(tail), {"sigma": sigma * tail.unit}


def _log_normal(tail: _Tail) -> _Fitted:
    """exp(-(log w - mu)^2 / (2 sigma^2)) / w, over its integral from xmin on; at best the power law, its limit"""
    mean = tail.mean(tail.logs)
    found = fit_cut_normal(mean, tail.mean((tail.logs - mean) ** 2))
    if found is None:
        return tail.power_law, {"mu": -math.inf, "sigma": math.inf}
    cut, sigma = found
    logarithms = log_density(tail.logs / sigma, cut) - math.log(sigma)
    return logarithms, {"mu": tail.log_xmin - cut * sigma, "sigma": sigma}


def _log_lengths(tail: _Tail) -> Floats:
    """log(w / unit): a density with respect to w becomes one with respect to log w."""
    return tail.logs - tail.logs[-1]


TAILS: Mapping[str, Callable[[_Tail], _Fitted]] = MappingProxyType(
    {"exponential": _exponential, "laplace": _exponential, "log-normal": _log_normal, "gaussian": _gaussian}
)
NESTED = frozenset({"log-normal"})
