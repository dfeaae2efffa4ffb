"""The xmin with the smallest KS distance among all distinct values, found without computing all distances.

With u_1 < ... < u_m the distinct values and N_k = #{w >= u_k}, the tail from u_k has the maximum-likelihood survival
function (w / u_k)^-b_k, b_k = N_k / sum log(w / u_k), and the KS distance

    D_k = max_{i >= k} max(|Q_ki - N_i / N_k|, |Q_ki - N_{i+1} / N_k|),   Q_ki = (u_i / u_k)^-b_k.

A maximum over some i is a lower bound of D_k. Candidates whose lower bound exceeds the smallest distance known are
discarded; of the others the one with the lowest bound is computed, and where its own maximum is, all others are looked
at too. This ends when none is left, so the result is that of the exhaustive scan.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netpact.algebra.power_law_values import DistinctValues, log_ratio
from netpact.core.progress import Progress

Places = NDArray[np.intp]
_BLOCK = 2**15  # candidates at once: what is computed for them stays in the cache
_STARTS_PER_OCTAVE = 2  # candidates that are computed first, per halving of the tail
_LEVELS = 4  # 15 sixteenths of each candidate's tail are looked at, the halves first
_ROUNDING = 1e-13  # of a distance: it may be rounded differently in a long array and in a short one


class Scan:
    """What the distances of all candidates are computed from; the largest value alone is no tail."""

    def __init__(self, distinct: DistinctValues) -> None:
        values, at_least = distinct.values, distinct.at_least
        self.above = at_least
        self.height = log_ratio(values[-1], values)  # log(u_m / u_i)
        # sum log(w / u_k) is a sum of positive terms, one for each gap between neighbours: no digits cancel.
        sums = log_ratio(values[1:], values[:-1])
        sums *= at_least[1:-1]
        np.cumsum(sums[::-1], out=sums[::-1])
        self.exponents = np.divide(at_least[:-2], sums, out=sums)
        self.candidates = len(values) - 1

    def distance(self, k: int) -> tuple[float, int]:
        """D_k, and the place i of its maximum."""
        largest, place = -1.0, k
        for start in range(k, self.candidates + 1, _BLOCK):
            places = slice(start, start + _BLOCK)
            model = np.exp(self.exponents[k] * (self.height[places] - self.height[k]))
            shares = self.above[start : start + len(model) + 1] / self.above[k]
            found = np.maximum(shares[:-1] - model, model - shares[1:])
            first = int(found.argmax())
            if found[first] > largest:
                largest, place = float(found[first]), start + first
        return largest, place

    def deviations(self, k: Places, i: Places) -> NDArray[np.float64]:
        """What D_k is the maximum of, for i >= k."""
        model = np.exp(self.exponents[k] * (self.height[i] - self.height[k]))
        return np.maximum(self.above[i] / self.above[k] - model, model - self.above[i + 1] / self.above[k])

    def place_within(self, k: Places, share: float) -> Places:
        """The i behind this share, 0 to 1, of the distinct values of each tail."""
        return k + (share * (self.candidates - k)).astype(np.intp)


def best_start(distinct: DistinctValues, *, progress: Progress | None = None) -> int:
    """The k with the smallest D_k; the smallest such k."""
    scan = Scan(distinct)
    shares = 0.5 ** (np.arange(_STARTS_PER_OCTAVE * np.log2(distinct.total)) / _STARTS_PER_OCTAVE)
    starts = np.unique(np.searchsorted(-distinct.at_least, -shares * distinct.total))
    best = min((scan.distance(int(k))[0], int(k)) for k in starts if k < scan.candidates)
    left, lower = _discard(scan, best[0], progress)
    while len(left):
        first = int(lower.argmin())
        k = int(left[first])
        distance, place = scan.distance(k)
        best = min(best, (distance, k))
        others = np.arange(len(left)) != first
        left, lower = left[others], lower[others]
        # Nearby candidates are farthest off at the same value, similar tails at the same share of their values.
        lower = np.maximum(lower, scan.deviations(left, np.maximum(left, place)))
        share = (place - k) / (scan.candidates - k)
        lower = np.maximum(lower, scan.deviations(left, scan.place_within(left, share)))
        kept = lower <= best[0] + _ROUNDING
        left, lower = left[kept], lower[kept]
    return best[1]


def _discard(scan: Scan, best: float, progress: Progress | None) -> tuple[Places, NDArray[np.float64]]:
    """The candidates that may be as good as the best, with a lower bound of each."""
    shares = [part / 2**level for level in range(1, _LEVELS + 1) for part in range(1, 2**level, 2)]
    kept: list[tuple[Places, NDArray[np.float64]]] = []
    for start in range(0, scan.candidates, _BLOCK):
        left = np.arange(start, min(start + _BLOCK, scan.candidates))
        lower = scan.deviations(left, left)
        for share in shares:
            lower = np.maximum(lower, scan.deviations(left, scan.place_within(left, share)))
            hopeful = lower <= best + _ROUNDING
            left, lower = left[hopeful], lower[hopeful]
        kept.append((left, lower))
        if progress is not None:
            progress(min(start + _BLOCK, scan.candidates), scan.candidates)
    return np.concatenate([left for left, _ in kept]), np.concatenate([lower for _, lower in kept])
