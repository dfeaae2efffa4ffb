"""What forms that hold another one have in common."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from netpact.coding import Bits, Coder, Contexts
from netpact.coding.coder import Model
from netpact.coding.forms.form import Effort, Form, Symbols, Weights, code_form, expect
from netpact.core.errors import PactError

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class Nested(ABC):
    """Without further methods: the weights of the inner form."""

    inner: Form
    name: ClassVar[str]
    since: ClassVar[int] = 2
    level: ClassVar[int]

    def __post_init__(self) -> None:
        check_inner(self.inner, name=self.name, level=self.level)

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Self:
        return cls(code_form(coder, None if form is None else expect(form, cls).inner, below=cls.level))

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        return self.inner.symbol_count(shape)

    def effort(self, grid: tuple[int, ...]) -> Effort:
        return self.inner.effort(grid)

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        return self.inner.code_symbols(coder, symbols, grid, contexts)

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        return self.inner.weights(symbols, shape)


def check_inner(inner: Form, *, name: str, level: int) -> None:
    if inner.level >= level:
        raise PactError(f"a form {name} cannot hold a form {inner.name}", where="inner")


@dataclass(frozen=True, eq=False)
class Beside:
    """The coder for one part of a tensor, while so many bytes are in use for the others."""

    coder: Coder
    held: int

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        return self.coder.bits(values, count, model)

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        self.coder.charge(work=work, memory=self.held + memory, kept=kept)
