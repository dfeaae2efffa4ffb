"""The form of a layer's weights that commute with turns or mirrors: one block in so many of them is coded."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from netpact.algebra.symmetry import GROUPS, Grid, Symmetry
from netpact.coding import Coder, Contexts, code_flag, code_uint
from netpact.coding.forms.form import (
    FORMS,
    Effort,
    Form,
    Symbols,
    Weights,
    code_form,
    entry_count,
    expect,
    plain_effort,
)
from netpact.coding.forms.nested import Nested
from netpact.core.checks import check_integer
from netpact.core.errors import PactError

_COPIES = 6 * 8  # bytes in use at once for each weight: its owner, the blocks it is put together from, the weight


@FORMS.add
@dataclass(frozen=True)
class Symmetric(Nested):
    """weight = that of the inner form for the free entry that it equals: see netpact.algebra.symmetry.

    The inner form sees the free entries as a tensor of their own. Where the shape allows no symmetry all are free.

    symmetry  the group, and which channels it permutes
    rows, columns  of the images that a linear layer's inputs are; 1 and 1 where they are none, and for convolutions
    """

    symmetry: Symmetry
    _: KW_ONLY
    rows: int = 1
    columns: int = 1
    tag: ClassVar[int] = 18
    name: ClassVar[str] = "symmetric"
    since: ClassVar[int] = 7
    level: ClassVar[int] = 3
    one_to_one: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for option in ("rows", "columns"):
            check_integer(getattr(self, option), where=option, least=1, most=1 << 20)

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Symmetric:
        own = None if form is None else expect(form, cls)
        known = None if own is None else own.symmetry
        groups = list(GROUPS)
        group = code_uint(coder, None if known is None else groups.index(known.group))
        if group >= len(groups):
            raise PactError(f"the message names group {group}, known are 0 to {len(groups) - 1}")
        inputs = code_flag(coder, None if known is None else known.inputs)
        # One of them at least: what is said already is not said again.
        outputs = code_flag(coder, None if known is None else known.outputs) if inputs else True
        rows, columns = 1, 1
        if code_flag(coder, None if own is None else (own.rows, own.columns) != (1, 1)):
            rows = 1 + code_uint(coder, None if own is None else own.rows - 1)
            columns = 1 + code_uint(coder, None if own is None else own.columns - 1)
            if (rows, columns) == (1, 1):
                raise PactError("images of one place are not spelled out")
        inner = code_form(coder, None if own is None else own.inner, below=cls.level)
        return cls(inner, Symmetry(groups[group], inputs, outputs), rows=rows, columns=columns)

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        return self.inner.symbol_count(self._free(shape))

    def effort(self, grid: tuple[int, ...]) -> Effort:
        work, memory = self.inner.effort(self._free(grid))
        own = plain_effort(grid, bytes_each=_COPIES)
        return Effort(work + self.symmetry.order * own.work, memory + own.memory)

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        count = self.symbol_count(grid)
        if symbols is not None and len(symbols) != count:  # the form was made for images of other sides
            raise PactError(
                f"{len(symbols)} symbols for a tensor of images {grid}, which takes {count}",
                hint="rows and columns of the form are those of the image before the linear layer",
            )
        return self.inner.code_symbols(coder, symbols, self._free(grid), contexts)

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        if not entry_count(shape):
            return np.zeros(shape)
        free = self.inner.weights(symbols, self._free(shape))
        return np.asarray(free.ravel()[self.symmetry.owners(self.grid(shape)).ravel()].reshape(shape))

    def grid(self, shape: tuple[int, ...]) -> Grid:
        """Outputs, inputs and the kernel's or the images' sides."""
        if len(shape) == 4:
            return shape
        outputs = shape[0] if shape else 1
        inputs, places = entry_count(shape[1:]), self.rows * self.columns
        return (outputs, inputs, 1, 1) if inputs % places else (outputs, inputs // places, self.rows, self.columns)

    def _free(self, shape: tuple[int, ...]) -> Grid:
        return self.symmetry.free_grid(self.grid(shape))
