"""The forms of a tensor of which few entries are kept, and those in any grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netpact.coding import Coder, Contexts, code_matrix_positions, code_positions
from netpact.coding.forms.form import (
    FORMS,
    Effort,
    Symbols,
    Weights,
    Within,
    entry_count,
    matrix_sides,
    plain_effort,
)
from netpact.coding.forms.grids import Zero
from netpact.coding.forms.nested import Beside, Nested
from netpact.core.errors import PactError

DROPPED = -(1 << 62)  # the symbol of an entry that is not kept; no grid has it
_SYMBOL_BYTES = 8
_ENTRY_BYTES = 32  # in use at once for each entry beside the inner form's: its place, its symbol, whether it is kept


@dataclass(frozen=True)
class Marked(Nested, ABC):
    """weight = that of the inner form for the entries that are kept, 0 for the others.

    The inner form has one symbol for each entry, and sees the kept entries as one vector.
    """

    level: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.inner, Zero):
            raise PactError("zeros that are kept are zeros", where="inner", hint="use the form zero")

    @abstractmethod
    def code_places(self, coder: Coder, kept: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        """Which entries are kept, in ascending order."""

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        return entry_count(shape)

    def effort(self, grid: tuple[int, ...]) -> Effort:
        """As if all entries were kept."""
        work, memory = self.inner.effort((entry_count(grid),))
        return Effort(work + plain_effort(grid).work, memory + _ENTRY_BYTES * entry_count(grid))

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        count = entry_count(grid)
        kept = None if symbols is None else np.flatnonzero(symbols != DROPPED)
        places = self.code_places(coder, kept, grid, contexts)
        # Beside the symbols of all entries: the places, the symbols at them, and a copy of these.
        beside = Beside(coder, 3 * places.nbytes + _SYMBOL_BYTES * count)
        beside.charge()
        known = None if symbols is None else symbols[places]
        decoded = np.full(count, DROPPED)
        decoded[places] = self.inner.code_symbols(beside, known, (len(places),), Within(contexts, "inner"))
        return decoded

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        places = np.flatnonzero(symbols != DROPPED)
        weights = np.zeros(len(symbols))
        weights[places] = self.inner.weights(symbols[places], (len(places),))
        return weights.reshape(shape)


@FORMS.add
@dataclass(frozen=True)
class Sparse(Marked):
    """All places are alike: they cost log2 C(n, k) bits."""

    tag: ClassVar[int] = 10
    name: ClassVar[str] = "sparse"
    one_to_one: ClassVar[bool] = True

    def code_places(self, coder: Coder, kept: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        return code_positions(coder, kept, entry_count(grid), contexts)


@FORMS.add
@dataclass(frozen=True)
class SparseMatrix(Marked):
    """A place is as likely as its row and its column are full: fewer bits where some keep more than others.

    Rows are the tensor's first axis, columns all others.
    """

    tag: ClassVar[int] = 16
    name: ClassVar[str] = "sparse-matrix"
    one_to_one: ClassVar[bool] = True
    since: ClassVar[int] = 4

    def code_places(self, coder: Coder, kept: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        return code_matrix_positions(coder, kept, matrix_sides(grid), contexts)
