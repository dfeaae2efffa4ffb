"""Power laws fitted to the tail of positive numbers by maximum likelihood (Clauset, Shalizi and Newman 2009)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from netpact.algebra.power_law_scan import best_start
from netpact.algebra.power_law_values import DistinctValues, log_ratio, sort_values
from netpact.core.checks import check_number, plain
from netpact.core.display import Displayed, Row
from netpact.core.errors import PactError
from netpact.core.progress import Progress


@dataclass(frozen=True, repr=False)
class PowerLawFit(Displayed):
    """The density (alpha - 1) / xmin (w / xmin)^-alpha on w >= xmin; other texts call alpha - 1 the tail index.

    alpha_stderr    (alpha - 1) / sqrt(tail_count); for a given xmin, its choice from the numbers is not part of it
    ks              the largest distance between the distribution functions of the tail and of the fit
    tail_count      how many numbers are >= xmin, of count numbers
    log_likelihood  of the tail
    xmin_given      whether xmin was given, and not chosen for the smallest ks
    """

    alpha: float
    alpha_stderr: float
    xmin: float
    ks: float
    tail_count: int
    count: int
    log_likelihood: float
    xmin_given: bool = False

    def display_facts(self) -> Row:
        return asdict(self)

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def __repr__(self) -> str:
        alpha = f"alpha {self.alpha:.4g} +- {self.alpha_stderr:.2g}"
        tail = f"{self.tail_count:,} of {self.count:,} numbers"
        return f"PowerLawFit({alpha} from xmin {self.xmin:.4g}, {tail}, KS distance {self.ks:.3g})"


def fit_power_law(
    values: Tensor | NDArray[np.number], *, xmin: float | None = None, progress: Progress | None = None
) -> PowerLawFit:
    """The power law of maximum likelihood on w >= xmin: alpha = 1 + n / sum log(w / xmin) (Hill 1975).

    values    positive numbers of any shape, as a torch tensor or numpy array; take magnitudes beforehand
    xmin      where the tail begins; default: the one of the values whose fit has the smallest KS distance, all but the
              largest value tried
    progress  called with (done, total) candidates for xmin
    """
    distinct = sort_values(values)
    return fit_distinct(distinct, None if xmin is None else plain(xmin), progress=progress)


def fit_distinct(distinct: DistinctValues, xmin: object, *, progress: Progress | None = None) -> PowerLawFit:
    """The fit to numbers that are sorted already; xmin = None for the best one."""
    if xmin is None:
        if len(distinct.values) < 2:
            what = f"must have two different numbers or more, got {distinct.total:,} times {distinct.values[0]:g}"
            raise PactError(what, where="values")
        start = float(distinct.values[best_start(distinct, progress=progress)])
    else:
        start = float(check_number(xmin, where="xmin", above=0))
    tail = distinct.tail(start)
    if tail.total < 2 or tail.values[-1] == start:
        largest = f"the largest of {distinct.total:,} is {distinct.values[-1]:g}"
        what = f"must leave two numbers or more in the tail, one of them above xmin, got {start:g}"
        raise PactError(what, where="xmin", hint=f"{largest}; None chooses xmin")
    logs = log_ratio(tail.values, start)
    n, exponent = tail.total, tail.total / float((logs * tail.counts).sum())
    model, shares = np.exp(-exponent * logs), tail.at_least / n
    return PowerLawFit(
        alpha=1 + exponent,
        alpha_stderr=exponent / math.sqrt(n),
        xmin=start,
        ks=float(np.maximum(shares[:-1] - model, model - shares[1:]).max()),
        tail_count=n,
        count=distinct.total,
        log_likelihood=n * (math.log(exponent) - math.log(start) - 1 - 1 / exponent),
        xmin_given=xmin is not None,
    )
