"""Changing single signs of a linear head, with the effect on errors and bits known before the change is made."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.certificates import risk_bound
from netpact.core.progress import Progress, Stop
from netpact.methods.sign_code import SignCode

# The search's own constants. They steer it and appear in no bound.
_HOT, _COLD = 1.0, 0.2  # the first and the last temperature, in errors
_ENTRIES = 1 << 20  # feature entries looked at in one step
_UNDECIDED = 8  # about one sample in this many can change sides by one move
_REPRICE = 200  # steps between two looks at what a bit costs
_RECORD = 20  # steps between two looks at the bound
_TIE = 1e-6  # margins that are this small beside the largest logit are no margins
_DELTA = 0.05
_STATES = np.array([-1, 0, 1], dtype=np.int8)


@dataclass(frozen=True)
class Found:
    """The best signs a search met and the bound (on ideal bits, without the header) they were judged by."""

    signs: NDArray[np.int8]
    score: float


class Flips:
    """Features, labels and what follows from them: where a row's logits may move without costing a sample."""

    def __init__(
        self,
        features: NDArray[np.float32],
        labels: NDArray[np.int64],
        *,
        classes: int,
        image: tuple[int, int] = (1, 1),
        offset: NDArray[np.float32] | None = None,
    ) -> None:
        """image   rows and columns of the maps that the features are; they decide how signs are coded
        offset  logits without any sign, a row for each class: those of a head that the signs are added to
        """
        self.code = SignCode((classes, features.shape[1]), rows=image[0], columns=image[1])
        self.columns = np.ascontiguousarray(features.T)  # one row for each feature
        self.labels = labels
        self.classes = classes
        self.samples = len(labels)
        self._offset = offset
        self._all = np.arange(self.samples)
        self._reach = 2 * float(np.abs(features).max(initial=0.0))  # the most that one move changes a logit by

    def logits(self, signs: NDArray[np.int8]) -> NDArray[np.float32]:
        """One row for each class: a row is contiguous, and all that is done here goes row by row."""
        product: NDArray[np.float32] = signs.astype(np.float32) @ self.columns
        return product if self._offset is None else product + self._offset

    def errors(self, logits: NDArray[np.float32]) -> int:
        rivals, own = self._rivals(logits)
        return self.samples - int(np.count_nonzero(own - rivals.max(axis=0) > self._tie(logits)))

    def allowed_moves(self, logits: NDArray[np.float32], row: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """For every sample the open interval in which a change of this row's logit leaves it classified rightly."""
        tie = self._tie(logits)
        rivals, own = self._rivals(logits)
        rivals[row] = -np.inf
        rival = rivals.max(axis=0)  # the highest of the classes that are neither the sample's own nor this row's
        mine = self.labels == row
        low = np.where(mine, rival - logits[row] + tie, -np.inf)
        high = np.where(mine, np.inf, np.where(own > rival + tie, own - logits[row] - tie, -np.inf))
        return low.astype(np.float32), high.astype(np.float32)

    def undecided(self, low: NDArray[np.float32], high: NDArray[np.float32]) -> tuple[NDArray[np.int64], int]:
        """The samples that some single move can make right or wrong, and how many of the others are right."""
        surely_right = (low < -self._reach) & (high > self._reach)
        surely_wrong = (low >= self._reach) | (high <= -self._reach)
        return np.flatnonzero(~(surely_right | surely_wrong)), int(np.count_nonzero(surely_right))

    def _rivals(self, logits: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The logits with each sample's own class taken out, and the logits of that class."""
        rivals = logits.copy()
        rivals[self.labels, self._all] = -np.inf
        return rivals, logits[self.labels, self._all]

    @staticmethod
    def _tie(logits: NDArray[np.float32]) -> float:
        return _TIE * (1.0 + float(np.abs(logits).max()))


def anneal(
    flips: Flips,
    start: NDArray[np.int8],
    *,
    steps: int,
    bit_price: float,
    random: np.random.Generator,
    progress: Progress | None,
    stop: Stop | None = None,
) -> Found:
    """Simulated annealing from the given signs; see TernarySearch."""
    signs = start.copy()
    logits = flips.logits(signs)
    best = Found(start, _score(flips.errors(logits), flips.samples, bit_price * flips.code.total_bits(signs)))
    width = max(1, min(len(flips.columns), _UNDECIDED * _ENTRIES // flips.samples))
    price = 0.0
    for step in range(steps):
        if step % _REPRICE == 0:
            logits = flips.logits(signs)  # afresh, so that rounding does not add up
            price = bit_price * errors_per_bit(flips.errors(logits), flips.samples, flips.code.total_bits(signs))
        row = int(random.integers(flips.classes))
        picked = np.arange(len(flips.columns))
        if width < len(picked):
            picked = np.sort(random.choice(len(picked), size=width, replace=False))
        costs = _move_costs(flips, signs, logits, row, picked, price)
        temperature = _HOT * (_COLD / _HOT) ** (step / steps)
        weights = np.exp((costs.min() - costs) / temperature).ravel()
        state, place = divmod(int(random.choice(len(weights), p=weights / weights.sum())), len(picked))
        column, change = picked[place], int(_STATES[state]) - int(signs[row, picked[place]])
        if change:
            logits[row] += change * flips.columns[column]
            signs[row, column] = _STATES[state]
        if step % _RECORD == _RECORD - 1 or step == steps - 1:
            score = _score(flips.errors(logits), flips.samples, bit_price * flips.code.total_bits(signs))
            if score < best.score:
                best = Found(signs.copy(), score)
            if progress is not None:
                progress(step + 1, steps)
            if stop is not None and stop():
                break
    return best


def _move_costs(
    flips: Flips,
    signs: NDArray[np.int8],
    logits: NDArray[np.float32],
    row: int,
    picked: NDArray[np.int64],
    price: float,
) -> NDArray[np.float64]:
    """Errors plus priced bits after each possible change: one row for each new state, one column for each place."""
    low, high = flips.allowed_moves(logits, row)
    active, settled = flips.undecided(low, high)
    low, high = low[active], high[active]
    unmoved = settled + int(np.count_nonzero((low < 0) & (high > 0)))
    features = flips.columns[picked[:, None], active]
    current = signs[row, picked]
    bits = flips.code.change_bits(signs, row)[:, picked]
    costs = np.empty((len(_STATES), len(picked)))
    for index, state in enumerate(_STATES):
        right = np.full(len(picked), unmoved)
        moved = np.flatnonzero(current != state)
        change = (state - current[moved]).astype(np.float32)[:, None] * features[moved]
        right[moved] = settled + np.count_nonzero((change > low) & (change < high), axis=1)
        costs[index] = flips.samples - right + price * bits[index]
    return costs


def errors_per_bit(errors: int, samples: int, bits: float) -> float:
    """How many errors are as bad for the bound as one more bit, here."""
    more_errors, more_bits = max(1, samples // 200), max(8, int(bits) // 20)
    errors = min(errors, samples - more_errors)
    here = _score(errors, samples, bits)
    for_errors = (_score(errors + more_errors, samples, bits) - here) / more_errors
    for_bits = (_score(errors, samples, bits + more_bits) - here) / more_bits
    return for_bits / max(for_errors, 1e-9)


def _score(errors: int, samples: int, bits: float) -> float:
    return risk_bound(errors=errors, samples=samples, code_bits=max(0, math.ceil(bits)), delta=_DELTA)
