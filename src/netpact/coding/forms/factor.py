"""The form of a matrix that is one of two factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netpact.coding import Coder, Contexts, ShortFloat, code_flag, code_integers, code_short_float, code_uint
from netpact.coding.forms.form import (
    FORMS,
    Effort,
    Form,
    Symbols,
    Weights,
    Within,
    entry_count,
    expect,
    matrix_sides,
    plain_effort,
)
from netpact.core.errors import PactError

MOST_SHIFTS = 53
_CODED_BYTES = 80  # for each symbol in use at once while it is coded: as in a low-rank form


@FORMS.add
@dataclass(frozen=True)
class Factor:
    """One factor of a product of two, each a tensor (layer) of its own; the components stand in order of their shifts.

        weight = step * symbol in the first factor, whose rows are the components
        weight = step * 2^shift * symbol in the second one, whose columns they are

    A component of a smaller singular value takes shorter numbers and a larger shift: symbols are coded shift by shift.

    octaves  how many components have the shift 0, 1, 2, ...; all others have the next one
    second   which factor it is
    """

    step: ShortFloat
    octaves: tuple[int, ...] = ()
    second: bool = False
    tag: ClassVar[int] = 13
    name: ClassVar[str] = "factor"
    since: ClassVar[int] = 2
    level: ClassVar[int] = 3

    def __post_init__(self) -> None:
        if len(self.octaves) >= MOST_SHIFTS or min(self.octaves, default=0) < 0:
            raise PactError(
                f"must be less than {MOST_SHIFTS} integers >= 0, got {self.octaves}",
                where="octaves",
            )

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Factor:
        own = None if form is None else expect(form, cls)
        second = code_flag(coder, None if own is None else own.second)
        step = code_short_float(coder, None if own is None else own.step)
        count = code_uint(coder, None if own is None else len(own.octaves))
        if count >= MOST_SHIFTS:
            raise PactError(f"the message announces {count + 1} shifts, at most {MOST_SHIFTS} are allowed")
        octaves = tuple(code_uint(coder, None if own is None else own.octaves[k]) for k in range(count))
        return cls(step, octaves, second)

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        components = matrix_sides(shape)[self.second]
        if entry_count(shape) and sum(self.octaves) > components:
            raise PactError(f"{sum(self.octaves)} components of a factor that has {components}", where="octaves")
        return entry_count(shape)

    def effort(self, grid: tuple[int, ...]) -> Effort:
        return plain_effort(grid)

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        coder.charge(memory=_CODED_BYTES * self.symbol_count(grid))
        decoded = np.zeros(self.symbol_count(grid), dtype=np.int64)
        all_places = np.arange(len(decoded)).reshape(matrix_sides(grid))
        parts = np.split(all_places, np.cumsum(self.octaves, dtype=np.int64), axis=1 if self.second else 0)
        for shift, places in enumerate(part.ravel() for part in parts):
            known = None if symbols is None else symbols[places]
            decoded[places] = code_integers(coder, known, len(places), Within(contexts, shift))
        return decoded

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        rows, columns = matrix_sides(shape)
        scaled = symbols.astype(np.float64).reshape(rows, columns)
        scaled *= self.step.value
        if self.second:  # by powers of two: exact
            ends = np.cumsum(self.octaves, dtype=np.int64)
            scaled *= np.ldexp(1.0, np.searchsorted(ends, np.arange(columns), side="right"))
        return scaled.reshape(shape)
