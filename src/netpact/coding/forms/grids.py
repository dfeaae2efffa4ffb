"""Forms in which every weight has a symbol of its own: evenly spaced, ternary, or from a codebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from netpact.coding import (
    HALF,
    Coder,
    Contexts,
    ShortFloat,
    code_choice,
    code_flag,
    code_indices,
    code_integers,
    code_positions,
    code_short_float,
)
from netpact.coding.forms.form import FORMS, Effort, Form, Symbols, Weights, entry_count, expect, plain_effort
from netpact.core.errors import PactError

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_CODEBOOK_BITS = 8
_FLOAT_BYTES = 14  # in use at once for each weight: in both precisions, and whether it is finite
_EXACT_BYTES = 48  # in use at once for each weight: an octet for each of its 32 bits, and copies of the whole


@dataclass(frozen=True)
class Stepped(ABC):
    """weight = step * symbol."""

    step: ShortFloat
    since: ClassVar[int] = 1
    level: ClassVar[int] = 0

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Self:
        return cls(code_short_float(coder, None if form is None else expect(form, cls).step))

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        return entry_count(shape)

    def effort(self, grid: tuple[int, ...]) -> Effort:
        return plain_effort(grid)

    @abstractmethod
    def code_symbols(
        self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts
    ) -> Symbols: ...

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        weights = symbols.reshape(shape).astype(np.float64)
        weights *= self.step.value  # in place: of a hundred million weights a copy is 800 MB
        return weights


@FORMS.add
@dataclass(frozen=True)
class Uniform(Stepped):
    """weight = step * symbol, symbols integers of either sign."""

    tag: ClassVar[int] = 1
    name: ClassVar[str] = "uniform"
    one_to_one: ClassVar[bool] = True

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        return code_integers(coder, symbols, entry_count(grid), contexts)


@FORMS.add
@dataclass(frozen=True)
class Ternary(Stepped):
    """weight = step * symbol, symbols -1, 0 or 1: made for tensors that are mostly zero."""

    tag: ClassVar[int] = 2
    name: ClassVar[str] = "ternary"
    one_to_one: ClassVar[bool] = True

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        refuse_no_sign(symbols)
        count = entry_count(grid)
        decoded = np.zeros(count, dtype=np.int64)
        places = code_positions(coder, None if symbols is None else np.flatnonzero(symbols), count, contexts)
        negative = coder.bits(None if symbols is None else symbols[places] < 0, len(places), contexts["negative"])
        decoded[places] = np.where(negative, -1, 1)
        return decoded


@FORMS.add
@dataclass(frozen=True)
class Codebook:
    """weight = values[symbol], with 2, 4, ..., 256 values; each value is a ShortFloat with a sign, or None for zero."""

    values: tuple[tuple[bool, ShortFloat] | None, ...]
    tag: ClassVar[int] = 3
    name: ClassVar[str] = "codebook"
    one_to_one: ClassVar[bool] = True
    since: ClassVar[int] = 1
    level: ClassVar[int] = 0

    def __post_init__(self) -> None:
        if len(self.values) not in [1 << bits for bits in range(1, MAX_CODEBOOK_BITS + 1)]:
            raise PactError(f"a codebook has 2, 4, 8, ... or {1 << MAX_CODEBOOK_BITS} values, got {len(self.values)}")

    @property
    def bits(self) -> int:
        return len(self.values).bit_length() - 1

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Codebook:
        book = None if form is None else expect(form, cls)
        bits = 1 + code_choice(coder, None if book is None else book.bits - 1, 3)
        values: list[tuple[bool, ShortFloat] | None] = []
        for index in range(1 << bits):
            value = None if book is None else book.values[index]
            if code_flag(coder, None if book is None else value is None):
                values.append(None)
                continue
            negative = code_flag(coder, None if value is None else value[0])
            values.append((negative, code_short_float(coder, None if value is None else value[1])))
        return cls(tuple(values))

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        return entry_count(shape)

    def effort(self, grid: tuple[int, ...]) -> Effort:
        return plain_effort(grid)

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        if symbols is not None and len(symbols) and not 0 <= int(symbols.min()) <= int(symbols.max()) < 1 << self.bits:
            raise PactError(f"the symbols of this codebook are 0 to {(1 << self.bits) - 1}")
        return code_indices(
            coder,
            symbols,
            entry_count(grid),
            bits=self.bits,
            contexts=contexts,
            name="index",
            prefix_depth=MAX_CODEBOOK_BITS,
        )

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        signed = [0.0 if v is None else -v[1].value if v[0] else v[1].value for v in self.values]
        return np.array(signed)[symbols].reshape(shape)


@FORMS.add
@dataclass(frozen=True)
class Zero:
    """Every weight is zero; no symbols."""

    tag: ClassVar[int] = 0
    name: ClassVar[str] = "zero"
    one_to_one: ClassVar[bool] = True
    since: ClassVar[int] = 1
    level: ClassVar[int] = 0

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Zero:
        return cls()

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        return 0

    def effort(self, grid: tuple[int, ...]) -> Effort:
        return plain_effort(grid)

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        return np.zeros(0, dtype=np.int64)

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        return np.zeros(shape)


@FORMS.add
@dataclass(frozen=True)
class Exact:
    """The 32 bits of every float32 weight as they are: for what must not be rounded, such as buffers."""

    tag: ClassVar[int] = 4
    name: ClassVar[str] = "exact"
    one_to_one: ClassVar[bool] = True
    since: ClassVar[int] = 1
    level: ClassVar[int] = 0

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Exact:
        return cls()

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        return entry_count(shape)

    def effort(self, grid: tuple[int, ...]) -> Effort:
        return plain_effort(grid, bytes_each=_FLOAT_BYTES)

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        if symbols is not None and len(symbols) and not 0 <= int(symbols.min()) <= int(symbols.max()) < 1 << 32:
            raise PactError("the symbols of an exact tensor are the bits of float32 numbers: 0 to 2^32 - 1")
        coder.charge(memory=_EXACT_BYTES * entry_count(grid))
        known = None if symbols is None else np.unpackbits(symbols.astype(">u4").view(np.uint8)).view(np.bool_)
        bits = coder.bits(known, 32 * entry_count(grid), HALF)
        return np.packbits(bits).view(">u4").astype(np.int64)

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        decoded = symbols.astype(np.uint32).view(np.float32).reshape(shape)
        if not np.isfinite(decoded).all():
            raise PactError("an exactly coded tensor holds NaN or infinity")
        return decoded.astype(np.float64)


def refuse_no_sign(symbols: Symbols | None) -> None:
    if symbols is not None and len(symbols) and not -1 <= int(symbols.min()) <= int(symbols.max()) <= 1:
        raise PactError("the symbols of a ternary tensor are -1, 0 and 1")
