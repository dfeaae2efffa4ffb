"""Forms of a tensor that is coded as its difference from a base network's tensor.

The base is no part of the message: whoever decodes supplies it. `weights` gives the difference alone; the tensor of the
base is added where a module is filled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from netpact.coding import Coder, Contexts, code_integers
from netpact.coding.forms.form import FORMS, Effort, Symbols, entry_count, plain_effort
from netpact.coding.forms.grids import Stepped
from netpact.coding.forms.nested import Nested

_BYTES = 34  # in use at once for each weight: the difference, the base in both precisions, their sum


@FORMS.add
@dataclass(frozen=True)
class Relative(Stepped):
    """weight = base + step * symbol, symbols integers: shorter than Difference(Uniform(step))."""

    tag: ClassVar[int] = 8
    name: ClassVar[str] = "relative"
    one_to_one: ClassVar[bool] = True
    level: ClassVar[int] = 5

    def effort(self, grid: tuple[int, ...]) -> Effort:
        return plain_effort(grid, bytes_each=_BYTES)

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        return code_integers(coder, symbols, entry_count(grid), contexts)


@FORMS.add
@dataclass(frozen=True)
class Difference(Nested):
    """weight = base + weight of the inner form."""

    tag: ClassVar[int] = 12
    name: ClassVar[str] = "difference"
    one_to_one: ClassVar[bool] = True
    level: ClassVar[int] = 4

    def effort(self, grid: tuple[int, ...]) -> Effort:
        work, memory = self.inner.effort(grid)
        return Effort(work, memory + _BYTES * entry_count(grid))
