"""What a matrix of signs costs in the message, and what each single change of it would cost.

The code is that of a `ternary-template` form, with its edges alone that of `ternary-map`: an entry is told in the
context of its left, upper and upper left neighbours in the image that its row is a weight for. A change therefore
touches the cost of four entries: its own, and those of its right, lower and lower right neighbours. Totals are exact up
to the coder's blocks; changes are priced at the odds of the moment.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from netpact.coding.forms import CONTEXTS, MAX_MAPS, TernaryTemplate

Signs = NDArray[np.int8]
Array = NDArray[np.float64]
Places = NDArray[np.int64]

MAP = TernaryTemplate()  # the contexts of ternary-map
TEMPLATE_BITS = 7  # what a message with another template takes more: version and tag, and three flags for a step
_VALUES = np.array([-1, 0, 1])
_FORWARD = ((0, 0), (0, 1), (1, 0), (1, 1))  # down and right: whose cost a change touches, itself first


class SignCode:
    """The code of signs (classes, features); the features are maps of rows x columns, 1 x 1 where there is no image."""

    def __init__(
        self, shape: tuple[int, int], *, rows: int = 1, columns: int = 1, template: TernaryTemplate = MAP
    ) -> None:
        classes, features = shape
        if features % (rows * columns):
            raise ValueError(f"{features} features are no maps of {rows} x {columns}")
        self.template = template
        self._grid = (classes, features // (rows * columns), rows, columns)
        edge = np.zeros((rows, columns), dtype=np.int64)
        edge[[0, -1], :] = edge[:, [0, -1]] = 1
        maps = self._grid[1] if template.maps else 1
        self._around, self._size = 2 * maps, CONTEXTS * maps
        self._surroundings = 2 * (np.arange(self._grid[1])[:, None, None] % maps) + edge  # its map, whether at the edge
        # What the four entries that a change touches lie in, and whether they are there at all.
        framed = np.zeros((self._grid[1], rows + 1, columns + 1), dtype=np.int64)
        framed[:, :-1, :-1] = self._surroundings
        there = np.zeros((rows + 1, columns + 1))
        there[:-1, :-1] = 1
        reached = _FORWARD if template.corner else _FORWARD[:-1]
        self._reached = [
            (framed[:, down : down + rows, right : right + columns], there[down : down + rows, right : right + columns])
            for down, right in reached
        ]

    def cheapest(self, signs: Signs) -> SignCode:
        """The same matrix under the template that these signs are shortest in; ternary-map's unless another gains."""
        _, maps, rows, columns = self._grid
        if rows * columns == 1:
            return self
        others = (one for one in TernaryTemplate.every() if one != MAP and (not one.maps or maps <= MAX_MAPS))
        codes = [SignCode(signs.shape, rows=rows, columns=columns, template=one) for one in (MAP, *others)]
        return min(codes, key=lambda code: code.message_bits(signs))

    def message_bits(self, signs: Signs) -> float:
        """The total, with what the template takes in the message."""
        return self.total_bits(signs) + (TEMPLATE_BITS if self.template != MAP else 0)

    def total_bits(self, signs: Signs) -> float:
        """sum over contexts of log2(n! pi / (Gamma(ones + 1/2) Gamma(zeros + 1/2))): Krichevsky and Trofimov's code."""
        met = [counts for part in self._counts(signs) for counts in part.tolist()]
        return sum(_kt_bits(ones, zeros) for ones, zeros in met)

    def change_bits(self, signs: Signs, row: int) -> Array:
        """What the code length changes by when one entry of the row becomes -1, 0, 1: shape (3, features)."""
        return self._change_bits(signs, signs[row : row + 1])[:, 0].reshape(len(_VALUES), -1)

    def all_change_bits(self, signs: Signs) -> Array:
        """The same for every row at once: shape (3, classes, features)."""
        return self._change_bits(signs, signs).reshape(len(_VALUES), *signs.shape)

    def _change_bits(self, signs: Signs, rows: Signs) -> Array:
        table = self._prices(signs).ravel()
        *_, height, width = self._grid
        near = np.ones((len(rows), self._grid[1], height + 2, width + 2), dtype=np.int64)  # values as 0, 1, 2
        near[:, :, 1:-1, 1:-1] += rows.reshape(len(rows), *self._grid[1:])

        def at(down: int, right: int) -> Places:
            found: Places = near[:, :, 1 + down : 1 + down + height, 1 + right : 1 + right + width]
            return found

        costs = np.zeros((len(_VALUES), *at(0, 0).shape))
        strides = [self._around * 3 ** (3 - axis) for axis in range(4)]
        for changed, (around, there) in enumerate(self._reached):
            down, right = _FORWARD[changed]
            # The entry that lies so far on: its value, left, upper and upper left neighbour. One of them is changed.
            seen = [at(down, right), at(down, right - 1), at(down - 1, right), at(down - 1, right - 1)]
            place = around + sum(strides[axis] * seen[axis] for axis in range(4) if axis != changed)
            for value in range(len(_VALUES)):
                costs[value] += there * table[place + value * strides[changed]]
        return np.asarray(costs - np.take_along_axis(costs, at(0, 0)[None], axis=0))

    def _prices(self, signs: Signs) -> Array:
        """Bits of an entry by (its value, left, up, upper left, surroundings) at the odds of these counts."""
        marked, signed = (
            (np.log2((counts.sum(axis=1, keepdims=True) + 1) / (counts + 0.5))) for counts in self._counts(signs)
        )
        value, left, up, corner, around = np.ogrid[-1:2, -1:2, -1:2, -1:2, 0 : self._around]
        told = marked[self._numbers(left, up, corner, around)]
        trend = np.sign(left + up)
        (against, along), (negative, positive) = signed
        sign = np.where(trend == 0, np.where(value < 0, negative, positive), np.where(value == trend, along, against))
        return np.asarray(np.where(value == 0, told[..., 1], told[..., 0] + sign))

    def _counts(self, signs: Signs) -> tuple[Places, Places]:
        """(ones, zeros) of each context: "marked?", and the two of the signs, "against the trend?" and "negative?"."""
        grid = signs.reshape(self._grid).astype(np.int64)
        framed = np.zeros((*self._grid[:2], self._grid[2] + 1, self._grid[3] + 1), dtype=np.int64)
        framed[:, :, 1:, 1:] = grid
        left, up, corner = framed[:, :, 1:, :-1], framed[:, :, :-1, 1:], framed[:, :, :-1, :-1]
        marks = grid != 0
        numbers = self._numbers(left, up, corner, self._surroundings)
        met = np.bincount(numbers.ravel(), minlength=self._size)
        ones = np.bincount(numbers[marks], minlength=self._size)
        trend, value = np.sign(left + up)[marks], grid[marks]
        against, along = np.count_nonzero(value == -trend), np.count_nonzero((trend != 0) & (value == trend))
        negative, positive = (np.count_nonzero((trend == 0) & (value == sign)) for sign in (-1, 1))
        return np.stack([ones, met - ones], axis=1), np.array([[against, along], [negative, positive]])

    def _numbers(self, left: Places, up: Places, corner: Places, around: Places) -> Places:
        marked = (left != 0).astype(np.int64) + (up != 0)
        return self.template.contexts(marked, around % 2 == 1, corner != 0, around // 2)


def _kt_bits(ones: int, zeros: int) -> float:
    nats = math.lgamma(ones + zeros + 1) + math.log(math.pi) - math.lgamma(ones + 0.5) - math.lgamma(zeros + 0.5)
    return nats / math.log(2)
