"""Signs that are weights for an image: each is coded in the context of its left and upper neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from netpact.coding import Coder, Contexts
from netpact.coding.coder import Context
from netpact.coding.forms.form import FORMS, Effort, Symbols, entry_count, plain_effort
from netpact.coding.forms.grids import Stepped, refuse_no_sign
from netpact.core.errors import PactError

MAX_PLACES = 4096  # of one image; decoding takes a step for each
_Signs = NDArray[np.int8]
_PLACE_STEPS = 100_000
_ENTRY_BYTES = 24  # in use at once for each weight where every image is one place


@FORMS.add
@dataclass(frozen=True)
class TernaryMap(Stepped):
    """weight = step * symbol, symbols -1, 0 or 1, along images in which neighbours resemble each other.

    Place by place in row-major order, for all images at once: "marked?" in a context for how many of the two neighbours
    (left and upper; none outside) are marked and whether the place lies on the image's edge; then of the marked ones
    "against the trend?", the trend being the sign of the neighbours' sum, or "negative?" where that sum is zero.
    """

    tag: ClassVar[int] = 5
    name: ClassVar[str] = "ternary-map"

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        refuse_no_sign(symbols)
        rows, columns = count_places(grid)
        coder.charge(memory=_ENTRY_BYTES * entry_count(grid))
        images = entry_count(grid) // max(1, rows * columns)
        known = None if symbols is None else symbols.reshape(images, rows, columns)
        # One row and one column of zeros stand before the first ones.
        framed = np.zeros((images, rows + 1, columns + 1), dtype=np.int8)
        for row in range(rows):
            for column in range(columns):
                framed[:, row + 1, column + 1] = _code_place(
                    coder,
                    None if known is None else known[:, row, column],
                    left=framed[:, row + 1, column],
                    up=framed[:, row, column + 1],
                    edge=row in (0, rows - 1) or column in (0, columns - 1),
                    contexts=contexts,
                )
        return framed[:, 1:, 1:].astype(np.int64).ravel()

    def effort(self, grid: tuple[int, ...]) -> Effort:
        """A fixed amount of it for each place, however few images there are."""
        work, memory = plain_effort(grid)
        rows, columns = image_sides(grid)
        return Effort(work + _PLACE_STEPS * rows * columns, memory)


def image_sides(grid: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of the images in a tensor (outputs, inputs, rows, columns); other tensors have none: 1 x 1."""
    return (grid[2], grid[3]) if len(grid) == 4 else (1, 1)


def count_places(grid: tuple[int, ...]) -> tuple[int, int]:
    """The image's sides, if it is not too large for a step at each place."""
    rows, columns = image_sides(grid)
    if rows * columns > MAX_PLACES:
        raise PactError(
            f"an image of {rows} x {columns} has more than {MAX_PLACES} places", hint="use the form ternary"
        )
    return rows, columns


def _code_place(
    coder: Coder, known: Symbols | None, *, left: _Signs, up: _Signs, edge: bool, contexts: Contexts
) -> _Signs:
    marked = np.zeros(len(left), dtype=np.bool_)
    neighbours = (left != 0).astype(np.int8) + (up != 0)
    for count in range(3):
        code_group(coder, None if known is None else known != 0, neighbours == count, marked, contexts[count, edge])
    return code_signs(coder, known, marked, left=left, up=up, contexts=contexts)


def code_signs(
    coder: Coder, known: Symbols | None, marked: NDArray[np.bool_], *, left: _Signs, up: _Signs, contexts: Contexts
) -> _Signs:
    """The signs of the marked ones of a place, by the trend of their neighbours."""
    trend = np.sign(left + up)
    turned = np.zeros(len(left), dtype=np.bool_)
    # Without a trend a mark is taken for positive until it says otherwise.
    expected = np.where(trend == 0, np.int8(1), trend)
    for name, group in (("against", trend != 0), ("negative", trend == 0)):
        code_group(coder, None if known is None else known != expected, marked & group, turned, contexts[name])
    return np.where(marked, np.where(turned, -expected, expected), np.int8(0))


def code_group(
    coder: Coder,
    known: NDArray[np.bool_] | None,
    group: NDArray[np.bool_],
    decisions: NDArray[np.bool_],
    context: Context,
) -> None:
    """Code the decisions of one group and write them into `decisions`."""
    places = np.flatnonzero(group)
    if len(places):
        decisions[places] = coder.bits(None if known is None else known[places], len(places), context)
