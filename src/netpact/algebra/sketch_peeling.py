"""A combinatorial decoder for sketches of integers: entries are found one by one and taken out of the sketch.

Entry (k, l) of X is added to the cells N(k) x N(l) of the sketch, N the places of the ones of a column. A cell that
is 0 shows that no entry is there, unless some cancel each other. Two rules, by turns:

- A cell that only one entry can have reached, all others of its entries having a cell that is 0, is that entry.
- Otherwise: the entry and value that make the most cells 0 (expander l0 decoding, Mendoza-Smith and Tanner 2017).

Every step lowers the number of cells that are not 0 or follows from the cells that are, so it ends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netpact.algebra.sketching import Integers, Sketcher
from netpact.core.errors import PactError

_SHARE = 0.8  # of the best step's gain: all steps as good as that are done in one round, if they share no cell
_AT_ONCE = 1 << 15  # entries whose cells are looked at together


def peel(values: Integers, sketcher: Sketcher, *, rounds: int) -> tuple[Integers, int, bool]:
    """(matrix, rounds, whether its sketch is the given one)"""
    if sketcher.per != "column":
        raise PactError("peeling needs the same number of ones in each column", where="per", hint="use solver='l1'")
    cells = _Cells(sketcher)
    rest = values.copy()
    found = np.zeros(sketcher.shape, dtype=np.int64)
    for done in range(rounds):
        if not rest.any():
            return found, done, True
        places, sizes = _certain(rest, cells)
        if not len(places):
            places, sizes = _best(rest, cells)
        if not len(places):
            return found, done, False
        found.reshape(-1)[places] += sizes
        np.subtract.at(rest.reshape(-1), cells.of(places).ravel(), np.repeat(sizes, cells.count))
    return found, rounds, not rest.any()


class _Cells:
    """Which cells of the sketch an entry reaches."""

    def __init__(self, sketcher: Sketcher) -> None:
        self._width = sketcher.size[1]
        self.shape = sketcher.shape
        self.rows, self.columns = (_neighbours(side) for side in (sketcher.left, sketcher.right))
        self.count = self.rows.shape[1] * self.columns.shape[1]

    def of(self, places: Integers) -> Integers:
        """(entries, cells of each)"""
        rows, columns = np.divmod(places, self.shape[1])
        cells = self.rows[rows][:, :, None] * self._width + self.columns[columns][:, None, :]
        return cells.reshape(len(places), self.count)

    def add_up(self, marked: NDArray[np.bool_]) -> Integers:
        """For each entry, how many of its cells are marked: sums over rows of cells first, then over columns."""
        half, found = np.zeros((self.shape[0], self._width), np.int64), np.zeros(self.shape, np.int64)
        for rows in self.rows.T:
            half += marked[rows]
        for columns in self.columns.T:
            found += half[:, columns]
        return found


def _neighbours(side: object) -> Integers:
    """(p, ones): where the ones of each column are."""
    turned = side.tocsc()  # type: ignore[attr-defined]
    return np.asarray(turned.indices, dtype=np.int64).reshape(turned.shape[1], -1)


def _certain(rest: Integers, cells: _Cells) -> tuple[Integers, Integers]:
    """Entries with a cell that no other can have reached, and the number in it."""
    possible = np.flatnonzero(cells.add_up(rest != 0) == cells.count)
    own = cells.of(possible)
    alone = np.bincount(own.ravel(), minlength=rest.size) == 1
    pure, values = alone[own], rest.reshape(-1)[own]
    has = pure.any(axis=1)
    possible, pure, values = possible[has], pure[has], values[has]
    first = values[np.arange(len(possible)), pure.argmax(axis=1)]
    agree = ((values == first[:, None]) | ~pure).all(axis=1)
    return possible[agree], first[agree]


def _best(rest: Integers, cells: _Cells) -> tuple[Integers, Integers]:
    """Entries and values that make more cells 0 than they spoil, the best and those nearly as good."""
    places = np.flatnonzero(2 * cells.add_up(rest != 0) > cells.count)
    parts = [_gains(rest, cells.of(places[i : i + _AT_ONCE])) for i in range(0, len(places), _AT_ONCE)]
    if not parts:
        return places, places
    gains, sizes = (np.concatenate(column) for column in zip(*parts, strict=True))
    good = np.flatnonzero(gains >= max(1, _SHARE * gains.max()))
    good = good[np.argsort(-gains[good], kind="stable")]
    places, sizes = places[good], sizes[good]
    own = cells.of(places)
    matched = rest.reshape(-1)[own] == sizes[:, None]
    # Each cell belongs to the first that matches it; who does not have all of its own waits for the next round.
    owner = np.full(rest.size, len(places))
    numbers = np.broadcast_to(np.arange(len(places))[:, None], own.shape)
    np.minimum.at(owner, own[matched], numbers[matched])
    free = ((owner[own] == numbers) | ~matched).all(axis=1)
    return places[free], sizes[free]


def _gains(rest: Integers, own: Integers) -> tuple[Integers, Integers]:
    """For each entry the most frequent value in its cells that is not 0: by how many more cells it is than 0 is."""
    values = np.sort(rest.reshape(-1)[own], axis=1)
    best, sizes = (np.zeros(len(values), dtype=np.int64) for _ in range(2))
    run = np.zeros(len(values), dtype=np.int64)
    for place in range(values.shape[1]):
        run = np.where(values[:, place] == values[:, place - 1], run + 1, 1) if place else run + 1
        better = (run > best) & (values[:, place] != 0)
        best, sizes = np.where(better, run, best), np.where(better, values[:, place], sizes)
    return best - np.count_nonzero(values == 0, axis=1), sizes
