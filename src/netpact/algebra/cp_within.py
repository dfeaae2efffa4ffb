"""How many components a tensor needs for a given error: ranks are tried upwards, then bisected."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from netpact.algebra.cp import CPDecomposition
from netpact.algebra.cp_als import ALSOptions, cp_decompose
from netpact.core.seed import Seed


@dataclass(frozen=True)
class RankSearch:
    """Which ranks are tried.

    most        no higher one
    first       the first one
    growth      from one rank that is not enough to the next
    resolution  the bisection ends when this share of the rank is left between too few and enough; 1: none
    """

    most: int
    first: int = 1
    growth: float = 2.0
    resolution: float = 0.0


def cp_within(
    tensor: Tensor, error: float, ranks: RankSearch, *, options: ALSOptions, seed: Seed
) -> CPDecomposition | None:
    """The decomposition of the smallest rank found whose relative error is at most this one; None if the most is not.

    What alternating least squares reaches is no proof that fewer would not do.
    """

    def fit(rank: int) -> CPDecomposition:
        # From singular vectors each time: the components of another rank are often a worse start.
        return cp_decompose(tensor, rank, options=options, seed=seed)

    low, high = 0, min(ranks.first, ranks.most)
    while (best := fit(high)).relative_error > error:
        if high == ranks.most:
            return None
        low, high = high, min(max(high + 1, int(ranks.growth * high)), ranks.most)
    while high - low > max(1, int(ranks.resolution * high)):
        middle = (low + high) // 2
        tried = fit(middle)
        if tried.relative_error <= error:
            high, best = middle, tried
        else:
            low = middle
    return best
