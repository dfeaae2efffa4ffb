"""The form of a tensor that is told by its products with random matrices, which the decoder makes again."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from netpact.algebra.hadamard import HadamardProjector
from netpact.algebra.projection import Projector, SignProjector
from netpact.algebra.stream import MAX_SEED
from netpact.coding import Coder, Contexts, ShortFloat, code_flag, code_integers, code_short_float, code_uint
from netpact.coding.forms.form import Effort, Form, Symbols, Weights, entry_count
from netpact.coding.forms.grids import expect
from netpact.core.errors import PactError, one_of

# Coded by place; append-only.
VARIANTS: dict[str, type[HadamardProjector] | type[SignProjector]] = {
    "hadamard": HadamardProjector,
    "signs": SignProjector,
}
_COPIES = 2 * 8  # bytes
MAX_SIGNS = 1 << 36  # of one tensor, count * entries: a limit on the work that a message may ask for, about a minute


@dataclass(frozen=True)
class Projection:
    """weights = step * sum_i symbol_i M_i, the M_i matrices of signs from the helper stream (seed, layer).

    count    how many matrices there are, at most as many as a vector has entries
    variant  "signs": independent ones; "hadamard": rows of a Hadamard matrix with random signs
    by_rows  each row of the tensor (its first axis) is a vector with `count` symbols of its own, and the matrices are
             the same for all; otherwise the whole tensor is one vector
    """

    step: ShortFloat
    count: int
    variant: str
    _: KW_ONLY
    seed: int = 0
    layer: int = 0
    by_rows: bool = False
    tag: ClassVar[int] = 6
    name: ClassVar[str] = "projection"

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise one_of(self.variant, VARIANTS, option="variant")
        for name, value, least in (("count", self.count, 1), ("seed", self.seed, 0), ("layer", self.layer, 0)):
            if not least <= value <= MAX_SEED:
                raise PactError(f"a whole number from {least} to 2^32 - 1 is needed, got {value}", where=name)

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Projection:
        known = None if form is None else expect(form, cls)
        step = code_short_float(coder, None if known is None else known.step)
        count = 1 + code_uint(coder, None if known is None else known.count - 1)
        variants = list(VARIANTS)
        variant = code_uint(coder, None if known is None else variants.index(known.variant))
        if variant >= len(variants):
            raise PactError(f"the message names variant {variant}, known are 0 to {len(variants) - 1}")
        seed = code_uint(coder, None if known is None else known.seed)
        layer = code_uint(coder, None if known is None else known.layer)
        by_rows = code_flag(coder, None if known is None else known.by_rows)
        return cls(step, count, variants[variant], seed=seed, layer=layer, by_rows=by_rows)

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        return self.count * self._vectors(shape)[0] if entry_count(shape) else 0

    def effort(self, grid: tuple[int, ...]) -> Effort:
        """That of the projector, and two more copies of the weights."""
        if not entry_count(grid):
            return Effort(0, 0)
        vectors, size = self._vectors(grid)
        work, memory = self.projector(size).effort(vectors)
        return Effort(work, memory + _COPIES * entry_count(grid))

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        return code_integers(coder, symbols, self.symbol_count(grid), contexts)

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        if not entry_count(shape):
            return np.zeros(shape)
        vectors, size = self._vectors(shape)
        sums = self.projector(size).combine(symbols.reshape(vectors, self.count))
        return np.asarray(sums.reshape(shape) * self.step.value)

    def projector(self, size: int) -> Projector:
        """The matrices for a vector of so many entries."""
        return VARIANTS[self.variant](size=size, count=self.count, seed=self.seed, layer=self.layer)

    def _vectors(self, shape: tuple[int, ...]) -> tuple[int, int]:
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
