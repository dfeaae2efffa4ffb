"""Symmetries of the square, and which entries of a layer's weights are equal where the layer has one.

A layer W commutes with a group if moving its input moves its output alike (Cohen and Welling 2016):

    W[g o, g i, g p] = W[o, i, p]        for every element g, output o, input i and place p of the kernel

Elements move places as turns and mirrors do. Channels that are permuted stand in blocks of as many as the group has
elements, and g takes the one of element h to that of g h. So one block in so many of the entries is free.

Elements are numbered 2 k + j: k quarter turns, then j mirrors (left and right change places). Channels of a larger
group are thus channels of the mirror alone too, two by two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netpact.core.checks import check_choice, check_flag
from netpact.core.errors import PactError

Places = NDArray[np.int64]
Grid = tuple[int, int, int, int]


class Element(NamedTuple):
    turns: int
    mirrored: bool

    def move(self, images: Places) -> Places:
        turned = np.rot90(images, self.turns, axes=(-2, -1))
        return turned[..., ::-1] if self.mirrored else turned

    def after(self, first: Element) -> Element:
        """Both, this one second. A mirror turns the sense of what turned before it."""
        turns = -self.turns if first.mirrored else self.turns
        return Element((turns + first.turns) % 4, self.mirrored != first.mirrored)

    def inverse(self) -> Element:
        return self if self.mirrored else Element(-self.turns % 4, False)


GROUPS: Mapping[str, tuple[Element, ...]] = {
    "mirror": tuple(Element(0, j) for j in (False, True)),
    "p4": tuple(Element(k, False) for k in range(4)),
    "p4m": tuple(Element(k, j) for k in range(4) for j in (False, True)),
}


@dataclass(frozen=True)
class Symmetry:
    """What a layer commutes with, and which of its channels the group permutes; the others it leaves in place.

    Channels that are no multiple of the group's order, and kernels that are not square where the group turns them, tie
    nothing: all entries are free.
    """

    group: str
    inputs: bool
    outputs: bool

    def __post_init__(self) -> None:
        check_choice(self.group, GROUPS, where="group")
        for name in ("inputs", "outputs"):
            check_flag(getattr(self, name), where=name)
        if not (self.inputs or self.outputs):
            raise PactError("inputs, outputs or both are permuted by the group", where="symmetry")

    @property
    def order(self) -> int:
        return len(GROUPS[self.group])

    def fits(self, grid: Grid) -> bool:
        outputs, inputs, rows, columns = grid
        return (
            not (self.outputs and outputs % self.order)
            and not (self.inputs and inputs % self.order)
            and (rows == columns or all(not element.turns for element in GROUPS[self.group]))
        )

    def free_grid(self, grid: Grid) -> Grid:
        """Of the entries that determine all others: those of each block's first output, or else its first input."""
        if not self.fits(grid):
            return grid
        outputs, inputs, rows, columns = grid
        if self.outputs:
            return outputs // self.order, inputs, rows, columns
        return outputs, inputs // self.order, rows, columns

    def owners(self, grid: Grid) -> Places:
        """For every entry of the weights, the number of the free entry that it equals."""
        free_grid = self.free_grid(grid)
        free = np.arange(math.prod(free_grid), dtype=np.int64).reshape(free_grid)
        if not self.fits(grid):
            return free
        moved = [self._moved(element, free) for element in GROUPS[self.group]]
        return np.stack(moved, axis=1 if self.outputs else 2).reshape(grid)

    def _moved(self, element: Element, free: Places) -> Places:
        """The weights that the element makes of the free ones: W[g, i, p] = W[1, g^-1 i, g^-1 p]."""
        images = element.move(free)
        if not (self.outputs and self.inputs):
            return images
        group, back = GROUPS[self.group], element.inverse()
        source = np.array([group.index(back.after(one)) for one in group])
        blocks = images.reshape(len(images), images.shape[1] // self.order, self.order, *images.shape[2:])
        return np.asarray(blocks[:, :, source].reshape(images.shape))
