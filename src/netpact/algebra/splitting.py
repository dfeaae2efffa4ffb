"""Douglas-Rachford splitting for basis pursuit: the matrix of least l1 norm among those with a given sketch.

    min |X|_1  subject to  A X B^T = Y

One round has one projection onto the matrices with that sketch and one shrinking of all entries. Which arithmetic they
are done in is the projection's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
HALVE_EVERY = 32  # rounds


class Iterate(NamedTuple):
    """sparse: after the shrinking; feasible: on the constraint; -multiplier: threshold * a subgradient, in the end."""

    sparse: Array
    feasible: Array
    multiplier: Array
    threshold: float


def split(
    project: Callable[[Array], Array], start: Array, *, threshold: float, least: float, half: Callable[[Array], Array]
) -> Iterator[Iterate]:
    """Rounds without end, from `start`:

        P = project(Z),   S = shrink(2 P - Z, threshold),   Z <- (Z - P) + S

    Every 32 rounds the threshold and with it the multiplier Z - P are halved, down to `least`: entries that are small
    beside the largest would take long to become nonzero. The solution does not depend on the threshold.

    half  of a multiplier
    """
    state, done = start, 0
    while True:
        feasible = project(state)
        reflected = 2 * feasible - state
        sparse = reflected - np.clip(reflected, -threshold, threshold)
        multiplier = state - feasible
        yield Iterate(sparse, feasible, multiplier, threshold)
        done += 1
        if done % HALVE_EVERY == 0 and threshold >= 2 * least:
            threshold, multiplier = threshold / 2, half(multiplier)
        state = multiplier + sparse
