"""What a matrix of signs costs in the message, and what each single change of it would cost.

The code is that of the form `ternary-map`: an entry is told in the context of its left and upper neighbours in the
image that its row is a weight for. A change therefore touches the cost of three entries: its own, its right and its
lower neighbour's. Totals are exact up to the coder's blocks; changes are priced at the odds of the moment.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Signs = NDArray[np.int8]
Array = NDArray[np.float64]

_NEIGHBOURS, _EDGES = 3, 2  # how many of the two neighbours are not zero; whether the place lies at the image's edge
_VALUES = np.array([-1, 0, 1])


class SignCode:
    """The code of signs (classes, features); the features are maps of rows x columns, 1 x 1 where there is no image."""

    def __init__(self, shape: tuple[int, int], *, rows: int = 1, columns: int = 1) -> None:
        classes, features = shape
        if features % (rows * columns):
            raise ValueError(f"{features} features are no maps of {rows} x {columns}")
        self._grid = (classes, features // (rows * columns), rows, columns)
        edge = np.zeros((rows, columns), dtype=np.int64)
        edge[[0, -1], :] = edge[:, [0, -1]] = 1
        self._edge = np.broadcast_to(edge, self._grid[1:])

    def total_bits(self, signs: Signs) -> float:
        """sum over contexts of log2(n! pi / (Gamma(ones + 1/2) Gamma(zeros + 1/2))): Krichevsky and Trofimov's code."""
        return float(sum(_kt_bits(int(ones), int(zeros)) for ones, zeros in self._counts(signs)))

    def change_bits(self, signs: Signs, row: int) -> Array:
        """What the code length changes by when one entry of the row becomes -1, 0, 1: shape (3, features)."""
        return self._change_bits(signs, signs[row : row + 1])[:, 0].reshape(len(_VALUES), -1)

    def all_change_bits(self, signs: Signs) -> Array:
        """The same for every row at once: shape (3, classes, features)."""
        return self._change_bits(signs, signs).reshape(len(_VALUES), *signs.shape)

    def _change_bits(self, signs: Signs, rows: Signs) -> Array:
        table = self._prices(signs)
        here = rows.reshape(len(rows), *self._grid[1:]).astype(np.int64) + 1
        framed = np.pad(here, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=1)
        left, up = framed[:, :, 1:-1, :-2], framed[:, :, :-2, 1:-1]
        right, down = framed[:, :, 1:-1, 2:], framed[:, :, 2:, 1:-1]
        above_right, left_below = framed[:, :, :-2, 2:], framed[:, :, 2:, :-2]
        edge = np.pad(self._edge, ((0, 0), (1, 1), (1, 1)))
        edge_right, edge_down = edge[:, 1:-1, 2:], edge[:, 2:, 1:-1]
        inside = np.pad(np.ones_like(self._edge), ((0, 0), (1, 1), (1, 1)))
        has_right, has_down = inside[:, 1:-1, 2:], inside[:, 2:, 1:-1]
        costs = []
        for value in range(len(_VALUES)):
            own = table[value, left, up, self._edge]
            to_right = has_right * table[right, value, above_right, edge_right]
            below = has_down * table[down, left_below, value, edge_down]
            costs.append(own + to_right + below)
        stacked = np.stack(costs)
        return np.asarray(stacked - np.take_along_axis(stacked, here[None], axis=0))

    def _prices(self, signs: Signs) -> Array:
        """Bits of an entry by (its value, left, up, edge), values shifted to 0, 1, 2, at the odds of these counts."""
        counts = np.array(self._counts(signs)) + 0.5
        bits = np.log2(counts.sum(axis=1, keepdims=True) / counts)  # one row a context: (of a one, of a zero)
        value, left, up, edge = np.ogrid[-1:2, -1:2, -1:2, 0:2]
        met = (left != 0) * 1 + (up != 0)
        marked = bits[met * _EDGES + edge]
        trend = np.sign(left + up)
        odd, plain = bits[_NEIGHBOURS * _EDGES], bits[_NEIGHBOURS * _EDGES + 1]
        sign = np.where(trend == 0, np.where(value < 0, plain[0], plain[1]), np.where(value == trend, odd[1], odd[0]))
        return np.asarray(np.where(value == 0, marked[..., 1], marked[..., 0] + sign))

    def _counts(self, signs: Signs) -> list[tuple[int, int]]:
        """(ones, zeros) of each context: marked? by neighbours and edge, against the trend?, negative?"""
        grid = signs.reshape(self._grid).astype(np.int64)
        framed = np.pad(grid, ((0, 0), (0, 0), (1, 0), (1, 0)))
        left, up = framed[:, :, 1:, :-1], framed[:, :, :-1, 1:]
        marks = grid != 0
        context = ((left != 0) * 1 + (up != 0)) * _EDGES + self._edge
        met = np.bincount(context.ravel(), minlength=_NEIGHBOURS * _EDGES)
        ones = np.bincount(context[marks], minlength=_NEIGHBOURS * _EDGES)
        trend, value = np.sign(left + up)[marks], grid[marks]
        against = int(np.count_nonzero(value == -trend))
        with_trend = int(np.count_nonzero((trend != 0) & (value == trend)))
        negative, positive = (int(np.count_nonzero((trend == 0) & (value == sign))) for sign in (-1, 1))
        return [*zip(ones.tolist(), (met - ones).tolist(), strict=True), (against, with_trend), (negative, positive)]


def _kt_bits(ones: int, zeros: int) -> float:
    nats = math.lgamma(ones + zeros + 1) + math.log(math.pi) - math.lgamma(ones + 0.5) - math.lgamma(zeros + 0.5)
    return nats / math.log(2)
