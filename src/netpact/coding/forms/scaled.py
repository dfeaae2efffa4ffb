"""The form of a tensor whose channels have scales of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netpact.coding import Coder, Contexts, code_flag, code_integers
from netpact.coding.forms.form import (
    FORMS,
    Effort,
    Form,
    Symbols,
    Weights,
    Within,
    code_form,
    entry_count,
    expect,
    matrix_sides,
    plain_effort,
)
from netpact.coding.forms.nested import Beside, Nested
from netpact.core.errors import PactError

SCALES_PER_OCTAVE = 4
MOST_SCALE = 32 * SCALES_PER_OCTAVE
_SYMBOL_BYTES = 8
_SCALE_BYTES = 40  # in use at once for each channel


@FORMS.add
@dataclass(frozen=True)
class Scaled(Nested):
    """weight = scale of its channel * weight of the inner form.

    The first symbols are the scales, one for each channel: 4 e + m stands for (1 + m/4) 2^e, m from 0 to 3. Then come
    those of the inner form.

    columns  channels are the columns of the tensor as a matrix (its first axis against all others); otherwise its rows
    """

    columns: bool = False
    tag: ClassVar[int] = 9
    name: ClassVar[str] = "scaled"
    one_to_one: ClassVar[bool] = True
    level: ClassVar[int] = 2

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Scaled:
        known = None if form is None else expect(form, cls)
        columns = code_flag(coder, None if known is None else known.columns)
        return cls(code_form(coder, None if known is None else known.inner, below=cls.level), columns)

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        return self._channels(shape) + self.inner.symbol_count(shape)

    def effort(self, grid: tuple[int, ...]) -> Effort:
        work, memory = self.inner.effort(grid)
        own = plain_effort(grid)
        return Effort(work + own.work, memory + own.memory + _SCALE_BYTES * self._channels(grid))

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        count = self._channels(grid)
        known = None if symbols is None else symbols[:count]
        scales = code_integers(coder, known, count, Within(contexts, "scale"))
        refuse_large_scales(scales)
        rest = None if symbols is None else symbols[count:]
        beside = Beside(coder, _SYMBOL_BYTES * (count + self.symbol_count(grid)))
        beside.charge()
        return np.concatenate([scales, self.inner.code_symbols(beside, rest, grid, Within(contexts, "inner"))])

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        if not entry_count(shape):
            return np.zeros(shape)
        count = self._channels(shape)
        scales = scale_values(symbols[:count])
        weights = self.inner.weights(symbols[count:], shape).reshape(matrix_sides(shape))
        # One product for each entry in float64: the same on every machine.
        weights *= scales if self.columns else scales[:, None]
        return weights.reshape(shape)

    def _channels(self, shape: tuple[int, ...]) -> int:
        return matrix_sides(shape)[self.columns] if entry_count(shape) else 0


def scale_values(symbols: Symbols) -> Weights:
    refuse_large_scales(symbols)
    exponents, quarters = np.divmod(symbols, SCALES_PER_OCTAVE)
    return np.ldexp(1 + quarters / SCALES_PER_OCTAVE, exponents)


def refuse_large_scales(symbols: Symbols) -> None:
    if len(symbols) and not -MOST_SCALE <= int(symbols.min()) <= int(symbols.max()) <= MOST_SCALE:
        raise PactError(f"scales of channels lie within +-{MOST_SCALE}")
