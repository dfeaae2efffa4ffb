"""Symmetric weights entry by entry, from what turns and mirrors do to single places: slow and independent."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

Place = tuple[int, int]
Entry = tuple[int, int, int, int]

# Quarter turns against the clock, then mirrors, in the order of the numbers that channels have.
ELEMENTS: dict[str, list[tuple[int, int]]] = {
    "mirror": [(0, 0), (0, 1)],
    "p4": [(0, 0), (1, 0), (2, 0), (3, 0)],
    "p4m": [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)],
}


def move_place(element: tuple[int, int], place: Place, *, rows: int, columns: int) -> Place:
    """Where the element takes a place of an image with so many rows and columns."""
    turns, mirrors = element
    row, column = place
    for _ in range(turns):
        row, column = columns - 1 - column, row
        rows, columns = columns, rows
    for _ in range(mirrors):
        column = columns - 1 - column
    return row, column


@cache
def product(group: str, second: int, first: int) -> int:
    """The number of the element that does what both do, found by trying all of them on a board of 3 x 3."""
    board = [(row, column) for row in range(3) for column in range(3)]
    elements = ELEMENTS[group]

    def ends(*numbers: int) -> list[Place]:
        found = board
        for number in numbers:
            found = [move_place(elements[number], place, rows=3, columns=3) for place in found]
        return found

    (number,) = (one for one in range(len(elements)) if ends(one) == ends(first, second))
    return number


def move_channel(group: str, element: int, channel: int, *, permuted: bool) -> int:
    order = len(ELEMENTS[group])
    block, number = divmod(channel, order)
    return block * order + product(group, element, number) if permuted else channel


def move_entry(group: str, element: int, entry: Entry, grid: Entry, *, inputs: bool, outputs: bool) -> Entry:
    """Where the element takes an entry of the weights."""
    output, input_, *place = entry
    row, column = move_place(ELEMENTS[group][element], (place[0], place[1]), rows=grid[2], columns=grid[3])
    return (
        move_channel(group, element, output, permuted=outputs),
        move_channel(group, element, input_, permuted=inputs),
        row,
        column,
    )


def ties(group: str, grid: Entry, *, inputs: bool, outputs: bool) -> bool:
    """Whether the group can act on such weights at all."""
    order = len(ELEMENTS[group])
    whole = (not outputs or grid[0] % order == 0) and (not inputs or grid[1] % order == 0)
    return whole and (group == "mirror" or grid[2] == grid[3])


def free_sides(group: str, grid: Entry, *, inputs: bool, outputs: bool) -> Entry:
    """Of the entries of the first output in each block, or else of the first input."""
    rest = grid[2:]
    if not ties(group, grid, inputs=inputs, outputs=outputs):
        return grid
    order = len(ELEMENTS[group])
    return (grid[0] // order, grid[1], *rest) if outputs else (grid[0], grid[1] // order, *rest)


def slow_owners(group: str, grid: Entry, *, inputs: bool, outputs: bool) -> NDArray[np.int64]:
    """For every entry, which of the free ones is among those that the group takes it to."""
    if not ties(group, grid, inputs=inputs, outputs=outputs):
        return np.arange(math.prod(grid)).reshape(grid)
    order = len(ELEMENTS[group])
    axis = 0 if outputs else 1
    free = free_sides(group, grid, inputs=inputs, outputs=outputs)
    owners = np.zeros(grid, dtype=np.int64)
    for entry in np.ndindex(*grid):
        orbit = [move_entry(group, one, entry, grid, inputs=inputs, outputs=outputs) for one in range(order)]
        ((output, input_, row, column),) = (one for one in orbit if one[axis] % order == 0)
        numbers = (output // order, input_) if outputs else (output, input_ // order)
        owners[entry] = np.ravel_multi_index((*numbers, row, column), free)
    return owners
