"""Which form holds a tensor of mostly zeros in the fewest bits."""

from __future__ import annotations

import numpy as np

from netpact.coding.forms import CodedTensor, Form, Marked, Sparse, SparseMatrix, Ternary, Uniform
from netpact.coding.forms.sparse import DROPPED
from netpact.methods.low_rank_fitting import code_length

_FEWEST = 64  # entries; a smaller tensor has no rows and columns to learn from


def shortest_sparse(coded: CodedTensor) -> CodedTensor:
    """The same weights; if most are 0, in the shortest of the forms that say where the others are."""
    grid = coded.form.inner if isinstance(coded.form, Marked) else coded.form
    # Even grids have a 0 of their own; to mark what is kept beside it takes more bits.
    even = isinstance(grid, (Uniform, Ternary))
    if len(coded.shape) < 2 or coded.symbols.size < _FEWEST or not (even or isinstance(coded.form, Marked)):
        return coded
    dropped = coded.symbols == (DROPPED if isinstance(coded.form, Marked) else 0)
    if 2 * np.count_nonzero(dropped) < dropped.size:
        return coded

    def written(form: Form) -> CodedTensor:
        symbols = np.where(dropped, DROPPED if isinstance(form, Marked) else 0, coded.symbols)
        return CodedTensor(form, symbols, coded.shape)

    return min(map(written, (grid if even else Sparse(grid), SparseMatrix(grid))), key=code_length)
