"""Single changes of signs in a linear head: which samples each of them would make right or wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netpact.methods.sign_code import SignCode

_TIE = 1e-6  # margins that are this small beside the largest logit are no margins
_LARGEST = 1 << 13  # features that are integers below this: twice one, added to a margin of twice one, fits 16 bits
_EXACT = 1 << 24  # float32 holds every integer up to this
_OCTETS = 255  # decisions that are added up in octets

Features = NDArray[np.float32] | NDArray[np.int16]
Logits = NDArray[np.float32]  # one row for each class: all that is done with them goes row by row


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
        self.features = _compact(features)  # one row for each sample
        self.labels = labels
        self.classes = classes
        self.samples = len(labels)
        self._offset = offset
        self._all = np.arange(self.samples)
        # The most that one change moves a sample's logit by.
        self._reach = 2 * np.abs(self.features).max(axis=1, initial=0).astype(np.float32)

    def logits(self, signs: NDArray[np.int8]) -> Logits:
        product: Logits = signs.astype(np.float32) @ self.features.astype(np.float32, copy=False).T
        return product if self._offset is None else product + self._offset

    def is_exact(self) -> bool:
        """Whether all features are integers, so few and small that float32 adds them in any order without rounding."""
        largest = self.features.shape[1] * float(self._reach.max(initial=0.0)) / 2
        return self._offset is None and self.features.dtype == np.int16 and largest < _EXACT

    def errors(self, logits: Logits) -> int:
        rivals, own = self._rivals(logits)
        return self.samples - int(np.count_nonzero(own - rivals.max(axis=0) > self._tie(logits)))

    def row(self, logits: Logits, row: int, columns: NDArray[np.int64] | None = None) -> RowMoves:
        """What changes of this row do, in the given columns or in all of them."""
        tie = self._tie(logits)
        rivals, own = self._rivals(logits)
        rivals[row] = -np.inf
        rival = rivals.max(axis=0)  # the highest of the classes that are neither the sample's own nor this row's
        mine = self.labels == row
        slack = np.where(mine, logits[row] - rival, own - logits[row]) - tie
        open_ = mine | (own > rival + tie)  # the others are wrong whatever this row does
        active = np.flatnonzero(open_ & (np.abs(slack) <= self._reach))
        settled = int(np.count_nonzero(open_ & (slack > self._reach)))
        active = np.concatenate([active[mine[active]], active[~mine[active]]])
        part = self.features[active] if columns is None else self.features[active[:, None], columns]
        distance = slack[active]
        if part.dtype == np.int16:
            distance = np.ceil(distance).astype(np.int16)  # integers compare with it as they did
        return RowMoves(part, distance, own=int(np.count_nonzero(mine[active])), settled=settled)

    def _rivals(self, logits: Logits) -> tuple[Logits, Logits]:
        """The logits with each sample's own class taken out, and the logits of that class."""
        rivals = logits.copy()
        rivals[self.labels, self._all] = -np.inf
        return rivals, logits[self.labels, self._all]

    @staticmethod
    def _tie(logits: Logits) -> float:
        return _TIE * (1.0 + float(np.abs(logits).max()))


class RowMoves:
    """The samples that one change of a row can make right or wrong.

    features  theirs, those of the row's own class first
    slack     by how much the row's logit may fall (own class) or rise (others) before the sample is wrong
    own       how many are of the row's own class
    settled   how many other samples are right, whatever is changed
    """

    def __init__(self, features: Features, slack: Features, *, own: int, settled: int) -> None:
        self._features, self._slack, self._own, self._settled = features, slack, own, settled

    def right(self) -> int:
        """Samples that are classified rightly now."""
        return self._settled + int(np.count_nonzero(self._slack > 0))

    def right_after(self, change: int, columns: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """The same after `change`, 1 or 2 up or down, is added to the row's sign, for each of the columns."""
        features = self._features if columns is None else self._features[:, columns]
        size = features if abs(change) == 1 else features * self._features.dtype.type(abs(change))
        slack, own = self._slack[:, None], self._own
        if change > 0:
            return self._settled + _add_up(size[:own] > -slack[:own]) + _add_up(size[own:] < slack[own:])
        return self._settled + _add_up(size[:own] < slack[:own]) + _add_up(size[own:] > -slack[own:])

    def make(self, column: int, change: int) -> None:
        """The change is made. What was out of reach before stays where it was until the row is looked at again."""
        moved = self._features[:, column] * self._features.dtype.type(change)
        self._slack[: self._own] += moved[: self._own]
        self._slack[self._own :] -= moved[self._own :]


def _compact(features: NDArray[np.float32]) -> Features:
    """Small integers, as a fixed stem gives, in half the memory: comparing them takes half as long."""
    largest = np.abs(features).max(initial=0.0)
    if largest < _LARGEST and (features == np.rint(features)).all():
        return np.ascontiguousarray(features, dtype=np.int16)
    return np.ascontiguousarray(features, dtype=np.float32)


def _add_up(decisions: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The sum over all rows. Octets are added much faster than wide numbers, as long as none overflows."""
    octets = decisions.view(np.uint8)
    parts, columns = len(octets) // _OCTETS, octets.shape[1]
    sums = octets[: parts * _OCTETS].reshape(parts, _OCTETS, columns).sum(axis=1, dtype=np.uint8)
    return np.asarray(sums.sum(axis=0, dtype=np.int64) + octets[parts * _OCTETS :].sum(axis=0, dtype=np.uint8))
