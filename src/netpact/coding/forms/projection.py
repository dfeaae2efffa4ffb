"""Forms of a tensor that is coded by its products with random matrices, which the decoder draws again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from netpact.algebra.hadamard import HadamardProjector
from netpact.algebra.projection import Integers, Projector, SignProjector
from netpact.algebra.stream import MAX_SEED
from netpact.algebra.units import MANTISSA_BITS, unit_exponent
from netpact.coding import Coder, Contexts, ShortFloat, code_flag, code_integers, code_short_float, code_uint
from netpact.coding.forms.form import (
    FORMS,
    Effort,
    Form,
    Symbols,
    Weights,
    code_form,
    entry_count,
    expect,
)
from netpact.coding.forms.nested import check_inner
from netpact.core.checks import check_choice, check_integer
from netpact.core.errors import PactError

# Coded by place; append-only.
VARIANTS: dict[str, type[HadamardProjector] | type[SignProjector]] = {
    "hadamard": HadamardProjector,
    "signs": SignProjector,
}
_COPIES = 2 * 8  # bytes
_COEFFICIENT_BYTES = 48  # in use at once for each coefficient while it is made an integer
EXACT_BITS = MANTISSA_BITS
MAX_SIGNS = 1 << 36  # of one tensor, count * entries: a limit on the work that a message may ask for, about a minute


class AnyProjection(ABC):
    """What both forms share: weights = sum_i coefficient_i M_i."""

    count: int
    variant: str
    seed: int
    layer: int
    by_rows: bool
    level: ClassVar[int] = 3

    def __post_init__(self) -> None:
        check_choice(self.variant, VARIANTS, where="variant")
        for name, value, least in (("count", self.count, 1), ("seed", self.seed, 0), ("layer", self.layer, 0)):
            check_integer(value, where=name, least=least, most=MAX_SEED)

    @abstractmethod
    def _coefficients(self, symbols: Symbols, sides: tuple[int, int]) -> tuple[Integers, float]:
        """Integers (vectors, count) and the one scale that they are multiplied with."""

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        if not entry_count(shape):
            return np.zeros(shape)
        vectors, size = self.vectors(shape)
        coefficients, scale = self._coefficients(symbols, (vectors, self.count))
        return np.asarray(self.projector(size).combine(coefficients).reshape(shape) * scale)

    def effort(self, grid: tuple[int, ...]) -> Effort:
        """That of the projector, and two more copies of the weights."""
        if not entry_count(grid):
            return Effort(0, 0)
        vectors, size = self.vectors(grid)
        work, memory = self.projector(size).effort(vectors)
        return Effort(work, memory + _COPIES * entry_count(grid))

    def projector(self, size: int) -> Projector:
        """The matrices for a vector of so many entries."""
        return VARIANTS[self.variant](size=size, count=self.count, seed=self.seed, layer=self.layer)

    @staticmethod
    def _code_draw(coder: Coder, known: AnyProjection | None) -> tuple[int, str, int, int, bool]:
        """(count, variant, seed, layer, by_rows)"""
        count = 1 + code_uint(coder, None if known is None else known.count - 1)
        variants = list(VARIANTS)
        variant = code_uint(coder, None if known is None else variants.index(known.variant))
        if variant >= len(variants):
            raise PactError(f"the message names variant {variant}, known are 0 to {len(variants) - 1}")
        seed = code_uint(coder, None if known is None else known.seed)
        layer = code_uint(coder, None if known is None else known.layer)
        return count, variants[variant], seed, layer, code_flag(coder, None if known is None else known.by_rows)

    def vectors(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """How many vectors the tensor is, and how long each is. What a message may not ask for is refused here."""
        entries = entry_count(shape)
        vectors = shape[0] if self.by_rows and shape else 1
        size = entries // vectors
        if self.count > size:
            raise PactError(
                f"{self.count:,} coefficients for a vector of {size:,} weights; at most as many as weights are allowed"
            )
        if self.variant == "signs" and self.count * entries > MAX_SIGNS:
            raise PactError(
                f"{self.count:,} matrices of signs for {entries:,} weights are more than 2^36 signs",
                hint="use the variant hadamard",
            )
        return vectors, size

    def sides(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """Of the matrix of coefficients: one row for each vector."""
        return (self.vectors(shape)[0], self.count) if entry_count(shape) else (0, 0)


@FORMS.add
@dataclass(frozen=True)
class Projection(AnyProjection):
    """weights = step * sum_i symbol_i M_i: shorter than Projected(Uniform(step), ...)."""

    step: ShortFloat
    count: int
    variant: str
    _: KW_ONLY
    seed: int = 0
    layer: int = 0
    by_rows: bool = False
    tag: ClassVar[int] = 6
    name: ClassVar[str] = "projection"
    since: ClassVar[int] = 1

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Projection:
        known = None if form is None else expect(form, cls)
        step = code_short_float(coder, None if known is None else known.step)
        count, variant, seed, layer, by_rows = cls._code_draw(coder, known)
        return cls(step, count, variant, seed=seed, layer=layer, by_rows=by_rows)

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        return entry_count(self.sides(shape))

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        return code_integers(coder, symbols, self.symbol_count(grid), contexts)

    def _coefficients(self, symbols: Symbols, sides: tuple[int, int]) -> tuple[Integers, float]:
        return symbols.reshape(sides), self.step.value


@FORMS.add
@dataclass(frozen=True)
class Projected(AnyProjection):
    """weights = sum_i coefficient_i M_i, the M_i matrices of signs from the helper stream (seed, layer).

    inner    the form of the coefficients: a matrix with a row for each vector
    count    how many matrices there are, at most as many as a vector has entries
    variant  "signs": independent ones; "hadamard": rows of a Hadamard matrix with random signs
    by_rows  each row of the tensor (its first axis) is a vector with `count` coefficients of its own, and the matrices
             are the same for all; otherwise the whole tensor is one vector
    """

    inner: Form
    count: int
    variant: str
    _: KW_ONLY
    seed: int = 0
    layer: int = 0
    by_rows: bool = False
    tag: ClassVar[int] = 11
    name: ClassVar[str] = "projected"
    since: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_inner(self.inner, name=self.name, level=self.level)

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Projected:
        known = None if form is None else expect(form, cls)
        count, variant, seed, layer, by_rows = cls._code_draw(coder, known)
        inner = code_form(coder, None if known is None else known.inner, below=cls.level)
        return cls(inner, count, variant, seed=seed, layer=layer, by_rows=by_rows)

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        return self.inner.symbol_count(self.sides(shape))

    def effort(self, grid: tuple[int, ...]) -> Effort:
        sides = self.sides(grid)
        (work, memory), (more, beside) = super().effort(grid), self.inner.effort(sides)
        return Effort(work + more, memory + beside + _COEFFICIENT_BYTES * entry_count(sides))

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        return self.inner.code_symbols(coder, symbols, self.sides(grid), contexts)

    def _coefficients(self, symbols: Symbols, sides: tuple[int, int]) -> tuple[Integers, float]:
        return as_integers(self.inner.weights(symbols, sides))


def as_integers(values: Weights) -> tuple[Integers, float]:
    """Integers and the power of two with which they give the values: the largest one that divides all of them."""
    unit = unit_exponent(values) or 0
    integers = np.ldexp(values, -unit)
    if np.abs(integers).max(initial=0.0) >= 1 << EXACT_BITS:
        raise PactError(
            f"the coefficients lie so far apart that their sums need more than {EXACT_BITS} bits",
            where="coefficients",
            hint="use a grid with fewer octaves between its smallest and its largest value",
        )
    return integers.astype(np.int64), float(np.ldexp(1.0, unit))
