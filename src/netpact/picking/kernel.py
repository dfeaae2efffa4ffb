"""A Gaussian similarity of integer vectors, in integers."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from netpact.picking.features import Features
from netpact.picking.recipe import UNIT

_PARTS = 64  # of a halving: similarity is a staircase with steps of about one percent

Similarities = NDArray[np.uint16]


@lru_cache(maxsize=1)
def staircase() -> NDArray[np.uint16]:
    """floor(UNIT 2^(-i / 64)) for i = 0, 1, ... down to 0: the largest t with t^64 2^i <= UNIT^64, in whole numbers."""
    found: list[int] = []
    t = UNIT
    while t:
        while t and t**_PARTS << len(found) > UNIT**_PARTS:
            t -= 1
        found.append(t)
    return np.array(found, dtype=np.uint16)


def squared_lengths(features: Features) -> NDArray[np.float64]:
    return np.asarray(np.einsum("ij,ij->i", features, features, dtype=np.float64))


class Kernel:
    """Similarities of all samples to one of them, or to others.

    |a|^2 + |b|^2 - 2 a.b in float64 is exact in any order of summation: all parts are integers below 2^53.
    """

    def __init__(self, features: Features, *, halving_distance: int) -> None:
        self.features = np.asarray(features, dtype=np.float64)
        self._lengths = squared_lengths(features)
        self._halving = halving_distance
        self._stairs = staircase()

    def column(self, other: NDArray[np.float64]) -> Similarities:
        """Of every sample to one vector."""
        products = self.features @ other
        return self._of(self._lengths + float(other @ other) - 2.0 * products)

    def block(self, others: NDArray[np.float64]) -> Similarities:
        """(samples, others)"""
        products = self.features @ others.T
        return self._of(self._lengths[:, None] + np.einsum("ij,ij->i", others, others) - 2.0 * products)

    def _of(self, distances: NDArray[np.float64]) -> Similarities:
        steps = distances.astype(np.int64) * _PARTS // self._halving
        return np.asarray(self._stairs[np.minimum(steps, len(self._stairs) - 1)])
