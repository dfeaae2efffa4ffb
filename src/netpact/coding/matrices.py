"""Which entries of a matrix are marked, where some rows and columns have more marks than others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netpact.coding.coder import Coder, Contexts
from netpact.coding.integers import Integers, code_indices
from netpact.core.errors import PactError

_DIGIT_BITS = 5  # 0 to 31 digits: up to 2^31 - 1 marks
# Bytes in use at once, when it is read or written: for each entry its context, whether it is of the plane at hand and
# whether it is marked; its place in the plane, and what is told of it; and for each row or column.
_ENTRY_BYTES = 4
_PLACE_BYTES = 18
_LINE_BYTES = 48


def code_matrix_positions(
    coder: Coder, values: Integers | None, sides: tuple[int, int], contexts: Contexts
) -> Integers:
    """The marked places of a matrix in row-major order.

    First, of each row and each column, the number of binary digits of how many marks it has. Where one has none,
    nothing more is said. The other places come in planes, by the sum of their row's and their column's digits: where a
    mark is as likely as the marks of its row times those of its column, this is the logarithm, but for a constant.
    """
    rows, columns = sides
    count = rows * columns
    coder.charge(memory=_ENTRY_BYTES * count + _LINE_BYTES * (rows + columns))
    marked = np.zeros(count, dtype=np.bool_)
    if values is not None:
        marked[values] = True
    whole = marked.reshape(sides)
    of_rows, of_columns = (
        _code_digits(coder, None if values is None else whole.sum(axis=1 - axis), sides[axis], contexts, axis)
        for axis in (0, 1)
    )
    context = place_contexts(of_rows, of_columns)
    sums = sorted({a + b for a in set(of_rows.tolist()) - {0} for b in set(of_columns.tolist()) - {0}})
    coder.charge(work=count * len(sums))
    for total in sums:
        places = np.flatnonzero(context == total)
        coder.charge(memory=_ENTRY_BYTES * count + _PLACE_BYTES * len(places))
        told = None if values is None else marked[places]
        marked[places] = coder.bits(told, len(places), contexts["marked", total])
    # What was told first follows from the marks: so whatever is read is written the same way.
    if any((count_digits(whole.sum(axis=1 - axis)) != own).any() for axis, own in enumerate((of_rows, of_columns))):
        raise PactError("the message marks other numbers of places in a row or a column than it says")
    return np.flatnonzero(marked)


def count_digits(marks: Integers) -> NDArray[np.uint8]:
    """Of each number, in binary: 0 for none."""
    return np.frexp(marks)[1].astype(np.uint8)


def place_contexts(of_rows: NDArray[np.uint8], of_columns: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """For each place the sum of the digits of its row's and its column's marks; 0 where one of them has none."""
    context = of_rows[:, None] + of_columns
    context[of_rows == 0] = 0
    context[:, of_columns == 0] = 0
    return np.asarray(context)


def _code_digits(coder: Coder, marks: Integers | None, count: int, contexts: Contexts, axis: int) -> NDArray[np.uint8]:
    digits = code_indices(
        coder,
        None if marks is None else count_digits(marks).astype(np.int64),
        count,
        bits=_DIGIT_BITS,
        contexts=contexts,
        name=("digits", axis),
        prefix_depth=_DIGIT_BITS,
    )
    return digits.astype(np.uint8)
