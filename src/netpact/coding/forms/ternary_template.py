"""Signs along images, coded in contexts that the message itself chooses."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import product
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from netpact.coding import Coder, Contexts, code_flag
from netpact.coding.forms.form import FORMS, Effort, Form, Symbols, Weights, entry_count, expect, plain_effort
from netpact.coding.forms.grids import refuse_no_sign
from netpact.coding.forms.ternary_map import code_group, code_signs, count_places, image_sides
from netpact.core.errors import PactError

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_MAPS = 256  # inputs with contexts of their own
_PLACE_STEPS = 200_000
_MAP_BYTES = 1 << 13  # of the contexts of one input
_ENTRY_BYTES = 64  # in use at once for each weight where every image is one place: its context, sorted, and its group
_COUNTS = 3  # 0, 1 or 2 of the left and the upper neighbour are marked
CONTEXTS = 4 * _COUNTS  # for each map


@FORMS.add
@dataclass(frozen=True)
class TernaryTemplate:
    """weight = symbol, -1, 0 or 1, along images as in ternary-map.

    The context of "marked?" is how many of the left and the upper neighbour are marked, and what the form says besides:

    edge    whether the place lies on the image's edge
    corner  whether the upper left neighbour is marked: where an area ends, it ends for its neighbours too
    maps    which of the tensor's inputs the image belongs to: some inputs are used more than others
    """

    edge: bool = True
    corner: bool = False
    maps: bool = False
    tag: ClassVar[int] = 17
    name: ClassVar[str] = "ternary-template"
    since: ClassVar[int] = 5
    level: ClassVar[int] = 0
    one_to_one: ClassVar[bool] = True

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Self:
        known = None if form is None else expect(form, cls)
        return cls(*(code_flag(coder, None if known is None else getattr(known, one.name)) for one in fields(cls)))

    @classmethod
    def every(cls) -> tuple[Self, ...]:
        """All that a message can say."""
        return tuple(cls(*choice) for choice in product((False, True), repeat=len(fields(cls))))

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        return entry_count(shape)

    def effort(self, grid: tuple[int, ...]) -> Effort:
        """A fixed amount of it for each place, however few images there are."""
        work, memory = plain_effort(grid)
        rows, columns = image_sides(grid)
        return Effort(work + _PLACE_STEPS * rows * columns, memory)

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        refuse_no_sign(symbols)
        rows, columns = count_places(grid)
        maps = max(1, grid[1]) if self.maps and len(grid) > 1 else 1
        if maps > MAX_MAPS:
            raise PactError(f"{maps:,} inputs, at most {MAX_MAPS} have contexts of their own", hint="without maps")
        coder.charge(memory=_ENTRY_BYTES * entry_count(grid) + _MAP_BYTES * maps)
        images = entry_count(grid) // max(1, rows * columns)
        known = None if symbols is None else symbols.reshape(images, rows, columns)
        inputs = np.arange(images) % maps
        # One row and one column of zeros stand before the first ones.
        framed = np.zeros((images, rows + 1, columns + 1), dtype=np.int8)
        for row, column in np.ndindex(rows, columns):
            left, up, corner = framed[:, row + 1, column], framed[:, row, column + 1], framed[:, row, column]
            here = None if known is None else known[:, row, column]
            context = self.contexts(
                (left != 0).astype(np.int64) + (up != 0),
                row in (0, rows - 1) or column in (0, columns - 1),
                corner != 0,
                inputs,
            )
            marked = np.zeros(images, dtype=np.bool_)
            numbers = np.unique(context).tolist()
            coder.charge(work=images * len(numbers))
            for number in numbers:
                told = None if here is None else here != 0
                code_group(coder, told, context == number, marked, contexts["marked", number])
            framed[:, row + 1, column + 1] = code_signs(coder, here, marked, left=left, up=up, contexts=contexts)
        return framed[:, 1:, 1:].astype(np.int64).ravel()

    def contexts(
        self, marked: NDArray[np.int64], edge: NDArray[np.bool_] | bool, corner: NDArray[np.bool_], maps: Symbols
    ) -> Symbols:
        """The number of the context for so many marked neighbours: what the form leaves out counts as none."""
        number = marked + _COUNTS * (2 * np.logical_and(edge, self.edge) + np.logical_and(corner, self.corner))
        return np.asarray(number + self.maps * CONTEXTS * maps)

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        return symbols.reshape(shape).astype(np.float64)
