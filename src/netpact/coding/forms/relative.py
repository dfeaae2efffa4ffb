"""The form of a tensor that is told as its difference from a base network's tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from netpact.coding import Coder, Contexts, ShortFloat, code_integers, code_short_float
from netpact.coding.forms.form import Effort, Form, Symbols, Weights, entry_count, plain_effort
from netpact.coding.forms.grids import expect

if TYPE_CHECKING:
    from typing_extensions import Self

_BYTES = 34  # in use at once for each weight: the difference, the base in both precisions, their sum


@dataclass(frozen=True)
class Relative:
    """weight = base + step * symbol, symbols whole numbers of either sign.

    The base is no part of the message: whoever decodes supplies it. `weights` gives the difference alone; the tensor of
    the base is added where a module is filled.
    """

    step: ShortFloat
    tag: ClassVar[int] = 8
    name: ClassVar[str] = "relative"

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Self:
        return cls(code_short_float(coder, None if form is None else expect(form, cls).step))

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        return entry_count(shape)

    def effort(self, grid: tuple[int, ...]) -> Effort:
        return plain_effort(grid, bytes_each=_BYTES)

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        return code_integers(coder, symbols, entry_count(grid), contexts)

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        return np.asarray(symbols.reshape(shape).astype(np.float64) * self.step.value)
