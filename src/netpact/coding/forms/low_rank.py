"""The form of a tensor that is a product of two narrow integer matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from netpact.coding import (
    Coder,
    Contexts,
    ShortFloat,
    code_choice,
    code_integers,
    code_short_float,
    code_uint,
)
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

LOW_RANK_BITS = range(2, 17)
_BITS_CODE = 4  # decisions that tell the bits
EXACT_BITS = 53  # integers below 2^53 are float64 numbers, and so are all sums on the way to them
_PRODUCTS_PER_STEP = 8
_SYMBOL_STEPS = 20
# In use at once beside the symbols themselves: the factors in float64; in the message their places, and all of a part.
_SYMBOL_BYTES = 24
_CODED_BYTES = 80

NumberT = TypeVar("NumberT", np.int64, np.float64)


@FORMS.add
@dataclass(frozen=True)
class LowRank:
    """W = step * sum_j 2^shift_j * (column j of P) (row j of Q), P and Q integer matrices.

    A tensor is the matrix of its first axis against all others. The symbols are those of P, then those of Q.

    step     one scale for all
    bits     2 to 16; symbols are at most 2^(bits-1) - 1 in magnitude
    octaves  how many components have the shift 0, 1, 2, ...: they stand in this order. A component of a smaller
             singular value takes shorter numbers and a larger shift, so that rounding costs the same error in each
    """

    step: ShortFloat
    bits: int
    octaves: tuple[int, ...]
    tag: ClassVar[int] = 7
    name: ClassVar[str] = "low-rank"
    since: ClassVar[int] = 1
    level: ClassVar[int] = 3

    def __post_init__(self) -> None:
        if self.bits not in LOW_RANK_BITS:
            raise PactError(
                f"{LOW_RANK_BITS.start} to {LOW_RANK_BITS.stop - 1} are allowed, got {self.bits!r}", where="bits"
            )
        if not 1 <= len(self.octaves) <= EXACT_BITS or min(self.octaves) < 0 or not self.octaves[-1]:
            raise PactError(
                f"must be 1 to {EXACT_BITS} numbers >= 0, the last of them not 0, got {self.octaves}",
                where="octaves",
            )
        largest = self.limit**2 * sum(count << shift for shift, count in enumerate(self.octaves))
        if largest >= 1 << EXACT_BITS:
            raise PactError(
                f"sums of {self.rank} products of {self.bits}-bit numbers with these shifts can reach 2^{EXACT_BITS}, "
                "where machines begin to round differently",
                where="octaves",
            )

    @property
    def rank(self) -> int:
        return sum(self.octaves)

    @property
    def limit(self) -> int:
        return (1 << (self.bits - 1)) - 1

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> LowRank:
        own = None if form is None else expect(form, cls)
        step = code_short_float(coder, None if own is None else own.step)
        bits = 1 + code_choice(coder, None if own is None else own.bits - 1, _BITS_CODE)
        octaves = 1 + code_uint(coder, None if own is None else len(own.octaves) - 1)
        if octaves > EXACT_BITS:
            raise PactError(f"the message announces {octaves} shifts, at most {EXACT_BITS} are allowed")
        return cls(step, bits, tuple(code_uint(coder, None if own is None else own.octaves[k]) for k in range(octaves)))

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        rows, columns = matrix_sides(shape)
        if not rows * columns:
            return 0
        if self.rank > min(rows, columns):
            raise PactError(f"a matrix of {rows} x {columns} has no rank of {self.rank}", where="rank")
        return self.rank * (rows + columns)

    def effort(self, grid: tuple[int, ...]) -> Effort:
        """That of the product of two matrices."""
        work, memory = plain_effort(grid)
        symbols = self.symbol_count(grid)
        products = self.rank * entry_count(grid) // _PRODUCTS_PER_STEP
        return Effort(work + _SYMBOL_STEPS * symbols + products, memory + _SYMBOL_BYTES * symbols)

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        """Shift by shift, from 0 up: the columns of P that have it, then the rows of Q, in contexts of their own.

        Components of one shift have numbers of about one length.
        """
        coder.charge(memory=_CODED_BYTES * self.symbol_count(grid))
        decoded = np.zeros(self.symbol_count(grid), dtype=np.int64)
        if symbols is not None:
            self._refuse_large(symbols)
        if not len(decoded):
            return decoded
        left, right = self._factors(np.arange(len(decoded)), grid)
        ends = np.cumsum(self.octaves)
        for shift, end in enumerate(ends):
            here = slice(end - self.octaves[shift], end)
            for factor, places in (("left", left[:, here].ravel()), ("right", right[here].ravel())):
                known = None if symbols is None else symbols[places]
                decoded[places] = code_integers(coder, known, len(places), Within(contexts, (factor, shift)))
        self._refuse_large(decoded)
        return decoded

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        if not len(symbols):
            return np.zeros(shape)
        self._refuse_large(symbols)
        left, right = self._factors(symbols.astype(np.float64), shape)
        shifts = np.repeat(np.arange(len(self.octaves)), self.octaves)
        # All sums are integers below 2^53, so every order of adding them up gives the same.
        sums = np.ldexp(left, shifts) @ right
        sums *= self.step.value
        return np.asarray(sums.reshape(shape))

    def _factors(self, symbols: NDArray[NumberT], shape: tuple[int, ...]) -> tuple[NDArray[NumberT], NDArray[NumberT]]:
        rows, columns = matrix_sides(shape)
        cut = rows * self.rank
        return symbols[:cut].reshape(rows, self.rank), symbols[cut:].reshape(self.rank, columns)

    def _refuse_large(self, symbols: Symbols) -> None:
        if len(symbols) and not -self.limit <= int(symbols.min()) <= int(symbols.max()) <= self.limit:
            raise PactError(f"the symbols of this low-rank tensor lie within +-{self.limit}")
