"""The form of a sparse matrix that is coded by its sketch, from which the decoder recovers it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from netpact.algebra.sketch_decoding import decode_sketch, decoding_effort
from netpact.algebra.sketching import Sketcher
from netpact.algebra.stream import MAX_SEED
from netpact.coding import Coder, Contexts, ShortFloat, code_integers, code_short_float, code_uint
from netpact.coding.forms.form import (
    FORMS,
    Effort,
    Form,
    Symbols,
    Weights,
    entry_count,
    expect,
    matrix_sides,
    plain_effort,
)
from netpact.core.checks import check_integer
from netpact.core.errors import PactError

MAX_SKETCH_SIDE = 1 << 16
MAX_ROUNDS = 1 << 12
_SYMBOL_BYTES = 16


@FORMS.add
@dataclass(frozen=True)
class Sketched:
    """weight = step * integer, of integers X whose sketch A X B^T the symbols are.

    The tensor is a matrix, its first axis against all others. X is found by integer arithmetic alone
    (`algebra/sketch_decoding.py`), so every machine finds the same; what is not recovered is refused.

    rows     m1 of the sketch; columns, m2. A side with m >= p is not shortened
    ones     in each column of A and B, which come from the helper stream (seed, layer)
    rounds   of the recovery, at most: the encoder knows how many it takes, and the decoder's work is bounded by it
    """

    step: ShortFloat
    rows: int
    columns: int
    ones: int
    _: KW_ONLY
    rounds: int
    seed: int = 0
    layer: int = 0
    tag: ClassVar[int] = 14
    name: ClassVar[str] = "sketched"
    since: ClassVar[int] = 3
    level: ClassVar[int] = 3

    def __post_init__(self) -> None:
        limits = {
            "rows": (1, MAX_SKETCH_SIDE),
            "columns": (1, MAX_SKETCH_SIDE),
            "ones": (1, MAX_SKETCH_SIDE),
            "rounds": (1, MAX_ROUNDS),
            "seed": (0, MAX_SEED),
            "layer": (0, MAX_SEED),
        }
        for name, (least, most) in limits.items():
            check_integer(getattr(self, name), where=name, least=least, most=most)

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Sketched:
        known = None if form is None else expect(form, cls)
        step = code_short_float(coder, None if known is None else known.step)
        sizes = (None,) * 4 if known is None else (known.rows, known.columns, known.ones, known.rounds)
        rows, columns, ones, rounds = (1 + code_uint(coder, None if size is None else size - 1) for size in sizes)
        seed = code_uint(coder, None if known is None else known.seed)
        layer = code_uint(coder, None if known is None else known.layer)
        return cls(step, rows, columns, ones, rounds=rounds, seed=seed, layer=layer)

    def sketcher(self, shape: tuple[int, ...]) -> Sketcher:
        sides = self.rows, self.columns
        return Sketcher(shape=matrix_sides(shape), sides=sides, ones=self.ones, seed=self.seed, layer=self.layer)

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        return entry_count(self.sketcher(shape).size) if entry_count(shape) else 0

    def effort(self, grid: tuple[int, ...]) -> Effort:
        """As if all rounds were needed."""
        if not entry_count(grid):
            return Effort(0, 0)
        own, sketcher = plain_effort(grid), self.sketcher(grid)
        work, memory = decoding_effort(sketcher, self.rounds)
        return Effort(work + own.work, memory + own.memory + _SYMBOL_BYTES * entry_count(sketcher.size))

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        return code_integers(coder, symbols, self.symbol_count(grid), contexts)

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        if not entry_count(shape):
            return np.zeros(shape)
        sketcher = self.sketcher(shape)
        found = decode_sketch(symbols.reshape(sketcher.size), sketcher, rounds=self.rounds).matrix
        if found is None:
            raise PactError(f"no sparse matrix with this sketch is found in {self.rounds:,} rounds", where="sketch")
        weights = found.reshape(shape).astype(np.float64)
        weights *= self.step.value
        return weights
