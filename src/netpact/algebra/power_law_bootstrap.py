"""Whether numbers can be from a power law at all: a bootstrap of the KS distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from netpact.algebra.power_law import PowerLawFit, fit_distinct
from netpact.algebra.power_law_tails import tail_of_fit
from netpact.algebra.power_law_values import DistinctValues, sort_values
from netpact.core.checks import check_instance, check_integer
from netpact.core.progress import Progress
from netpact.core.seed import Seed

_REPEATS = 500  # a p-value of 0.1 has a standard error of 0.013 then


def power_law_p_value(
    values: Tensor | NDArray[np.number],
    fit: PowerLawFit,
    *,
    repeats: int = _REPEATS,
    seed: Seed = Seed(0),  # noqa: B008  frozen
    progress: Progress | None = None,
) -> float:
    """How often numbers from the fitted power law are as far from their own fit (Clauset et al. 2009, section 4.1).

    Each repeat draws as many numbers as there are: from the power law with probability tail_count / count, otherwise
    from those below xmin. It is fitted like the values: with the given xmin, or with its own best one. The p-value is
    (1 + the repeats with at least the KS distance of the fit) / (1 + repeats). Below 0.1, say, the power law does not
    fit; a large p-value with few numbers says little.
    """
    distinct = sort_values(values)
    tail_of_fit(distinct, fit)
    check_integer(repeats, where="repeats", least=1)
    check_instance(seed, Seed, where="seed")
    below = np.repeat(distinct.values, distinct.counts.astype(np.intp))[: fit.count - fit.tail_count]
    as_far = 0
    for repeat in range(repeats):
        drawn = _draw(below, fit, seed.child("power law", repeat).numpy())
        as_far += _distance(drawn, fit) >= fit.ks
        if progress is not None:
            progress(repeat + 1, repeats)
    return (1 + as_far) / (1 + repeats)


def _draw(below: NDArray[np.float64], fit: PowerLawFit, random: np.random.Generator) -> DistinctValues:
    in_tail = int(random.binomial(fit.count, fit.tail_count / fit.count))
    with np.errstate(over="ignore"):
        tail = fit.xmin * np.exp(random.exponential(1 / (fit.alpha - 1), in_tail))
    # Numbers that can be measured are floats; with an alpha of nearly 1 not all drawn ones are.
    tail = np.minimum(tail, np.finfo(np.float64).max)
    others = random.choice(below, fit.count - in_tail) if in_tail < fit.count else below[:0]
    return sort_values(np.concatenate([others, tail]))


def _distance(drawn: DistinctValues, fit: PowerLawFit) -> float:
    """The KS distance of the fit to drawn numbers; 1, the largest there is, where too few are in a tail."""
    xmin = fit.xmin if fit.xmin_given else None
    first = drawn.values[0] if xmin is None else xmin
    if drawn.values[-1] <= first or drawn.tail(first).total < 2:
        return 1.0
    return fit_distinct(drawn, xmin).ks
