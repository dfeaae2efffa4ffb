"""Which entries of weight tensors are kept when the others become 0: the largest ones, or a random few."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netpact.algebra.stream import Stream
from netpact.core.checks import check_number

Real = NDArray[np.float32] | NDArray[np.float64]
Mask = NDArray[np.bool_]

_DRAWN_AT_ONCE = 1 << 20  # random numbers in memory at once
_KEY_BITS = 64


def keep_largest(arrays: Sequence[Real], *, count: int) -> list[Mask]:
    """The `count` largest magnitudes of all arrays together; of equal ones those that come first. A 0 is never kept."""
    sizes = [values.size for values in arrays]
    magnitudes = np.concatenate([np.abs(values).ravel() for values in arrays]) if arrays else np.zeros(0)
    count = min(count, int(np.count_nonzero(magnitudes)))
    kept = np.zeros(magnitudes.size, dtype=np.bool_)
    if count:
        least = np.partition(magnitudes, magnitudes.size - count)[magnitudes.size - count]
        np.greater(magnitudes, least, out=kept)
        kept[np.flatnonzero(magnitudes == least)[: count - int(np.count_nonzero(kept))]] = True
    parts = np.split(kept, np.cumsum(sizes)[:-1]) if arrays else []
    return [part.reshape(values.shape) for part, values in zip(parts, arrays, strict=True)]


def magnitude_masks(arrays: Sequence[Real], *, keep: float, together: bool) -> list[Mask]:
    """A `keep` share of the entries of each array, or of all together: the largest. Entries that are 0 stay out.

    So a network that was pruned before keeps its zeros, which count among the entries. At least one entry is kept.
    """
    check_number(keep, where="keep", above=0, most=1)
    groups = [list(arrays)] if together else [[values] for values in arrays]
    shares = [max(1, round(keep * sum(values.size for values in group))) for group in groups]
    return [mask for group, count in zip(groups, shares, strict=True) for mask in keep_largest(group, count=count)]


def random_mask(values: Real, *, scale: float, stream: Stream, keep_diagonal: bool) -> Mask:
    """Algorithm 1 of Guha et al. 2023: every entry w is pruned by itself, with probability

        exp(-w^2 / (scale Psi)),    Psi the variance of the entries

    An entry that is 0 is always pruned. keep_diagonal keeps the others on the diagonal of the tensor as a matrix, its
    first axis against all others, as the paper prints it.
    """
    check_number(scale, where="scale", above=0)
    flat = values.ravel()
    # In units of the largest: no square underflows or overflows, and the exponent stays what it was.
    unit = float(np.abs(flat).max(initial=0.0)) or 1.0
    variance = float(np.var(flat / unit, dtype=np.float64)) if flat.size else 0.0
    kept = np.empty(flat.size, dtype=np.bool_)
    for start in range(0, flat.size, _DRAWN_AT_ONCE):
        part = flat[start : start + _DRAWN_AT_ONCE].astype(np.float64) / unit
        with np.errstate(divide="ignore", invalid="ignore"):
            pruned = np.where(part == 0, 1.0, np.exp(-np.square(part) / (scale * variance)))
        drawn = np.ldexp(stream.keys(start, part.size).astype(np.float64), -_KEY_BITS)  # from 0 to 1
        kept[start : start + part.size] = drawn >= pruned
    kept &= flat != 0
    if keep_diagonal and flat.size:
        columns = flat.size // len(values)
        places = np.arange(min(len(values), columns)) * (columns + 1)
        kept[places] = flat[places] != 0
    return kept.reshape(values.shape)


def expected_share(scale: float) -> float:
    """The share of normal entries that Algorithm 1 keeps on average (Guha et al. 2023, Lemma 4.1 and after it):

    chi = 1 - sqrt(d / (d + 2)),    d the scale
    """
    check_number(scale, where="scale", above=0)
    return 1 - math.sqrt(scale / (scale + 2))
