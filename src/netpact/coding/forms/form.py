"""What a coded tensor is: a form (its few parameters) and integer symbols."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from netpact.coding import Coder, Contexts, code_uint
from netpact.coding.coder import Context
from netpact.core.errors import PactError
from netpact.core.table import Table

Symbols = NDArray[np.int64]
Weights = NDArray[np.float64]
KindT = TypeVar("KindT")
FormT = TypeVar("FormT", bound="Form")
_BASE_LEVEL, _ANY_LEVEL = 4, 6


class Effort(NamedTuple):
    """What making a tensor's weights from its symbols takes: steps of about a nanosecond, and bytes in use at once."""

    work: int
    memory: int


class Form(Protocol):
    """How symbols become weights. A form is a small frozen record; tensors of equal form share it in the message.

    tag    its number in the message, append-only: a tag's meaning never changes
    since  the decoder version that brought it
    level  a form may hold an `inner` one of a lower level only, so nesting ends: 0 grids, 1 sparse, 2 scaled, 3 sums of
           matrices, 4 difference from a base network, 5 the same, and never inside another
    """

    tag: ClassVar[int]
    name: ClassVar[str]
    since: ClassVar[int]
    level: ClassVar[int]

    @classmethod
    def code(cls, coder: Coder, form: Form | None) -> Form:
        """The form's own parameters in the message (None when reading)."""

    def symbol_count(self, shape: tuple[int, ...]) -> int:
        """How many symbols a tensor of this shape takes."""

    def effort(self, grid: tuple[int, ...]) -> Effort:
        """What `weights` will take: from the form and the shape alone, so that it can be refused before any work."""

    def code_symbols(self, coder: Coder, symbols: Symbols | None, grid: tuple[int, ...], contexts: Contexts) -> Symbols:
        """The symbols in the message (None when reading).

        grid  the tensor's shape with its images spelled out: (outputs, inputs, rows, columns) of a convolution, and of
              a linear layer that follows a flattened image
        """

    def weights(self, symbols: Symbols, shape: tuple[int, ...]) -> Weights:
        """The tensor. Every machine computes the same numbers: integers times one scale.

        Where integers are summed, all sums stay below 2^53: then they are exact in every order.
        """


class _Forms(Mapping[int, type[Form]]):
    """Forms by tag. The files of this folder are imported when a tag is asked for that none has brought yet."""

    def __init__(self) -> None:
        self._files: Table[type[Form]] = Table("form", "netpact.coding.forms")
        self._met: dict[int, type[Form]] = {}

    def add(self, form: type[FormT]) -> type[FormT]:
        if self._met.setdefault(form.tag, form) is not form:
            raise PactError(f"the forms {self._met[form.tag].name} and {form.name} have one tag", where=str(form.tag))
        self._files.add(form)
        return form

    def __getitem__(self, tag: int) -> type[Form]:
        if tag not in self._met:
            len(self._files)
        return self._met[tag]

    def __iter__(self) -> Iterator[int]:
        len(self._files)
        return iter(sorted(self._met))

    def __len__(self) -> int:
        return len(self._files)


FORMS = _Forms()


def code_form(coder: Coder, form: Form | None, *, below: int = _ANY_LEVEL) -> Form:
    """The tag, then the form's parameters. A form inside another one has a level below that one's."""
    tag = code_uint(coder, None if form is None else form.tag)
    kind = FORMS.get(tag)
    if kind is None or kind.level >= below:
        allowed = [known for known in FORMS if FORMS[known].level < below]
        raise PactError(f"the message names form {tag}, allowed here are {allowed}")
    return kind.code(coder, form)


def needs_base(form: Form) -> bool:
    """Whether a base network's tensor is added to its weights."""
    return form.level >= _BASE_LEVEL


def is_one_to_one(form: Form) -> bool:
    """Whether any symbols that are read in this form would be written as they were: no other decisions stand for them.

    Said by a form's class (`one_to_one`) of `code_symbols`; one that says nothing is walked through a second time.
    """
    return all(getattr(part, "one_to_one", False) for part in unnest(form))


def unnest(form: Form) -> Iterator[Form]:
    """The form itself and all inside it."""
    yield form
    if (inner := getattr(form, "inner", None)) is not None:
        yield from unnest(inner)


def expect(form: Form, kind: type[KindT]) -> KindT:
    if not isinstance(form, kind):
        raise TypeError(f"{kind.__name__} cannot code a {type(form).__name__}")
    return form


class Within(Contexts):
    """The contexts of one part of a tensor, kept among those of the whole."""

    def __init__(self, whole: Contexts, part: Hashable) -> None:
        super().__init__()
        self._whole, self._part = whole, part

    def __missing__(self, name: Hashable) -> Context:
        return self._whole[self._part, name]


@dataclass(frozen=True, eq=False)
class CodedTensor:
    """One tensor of the network as it is in the message."""

    form: Form
    symbols: Symbols
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        expected = self.form.symbol_count(self.shape)
        if self.symbols.shape != (expected,) or self.symbols.dtype != np.int64:
            raise PactError(
                f"a {self.form.name} tensor of shape {self.shape} takes {expected} symbols (int64, flat), "
                f"got {self.symbols.dtype} of shape {self.symbols.shape}"
            )

    def weights(self) -> Weights:
        return self.form.weights(self.symbols, self.shape)


_ENTRY_STEPS = 20
_ENTRY_BYTES = 10  # the weight in float64, and whether it is finite


def plain_effort(grid: tuple[int, ...], *, bytes_each: int = _ENTRY_BYTES) -> Effort:
    """Of a form that takes a few steps for each weight."""
    entries = entry_count(grid)
    return Effort(_ENTRY_STEPS * entries, bytes_each * entries)


def entry_count(shape: tuple[int, ...]) -> int:
    return math.prod(shape)


def matrix_sides(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of a tensor taken as a matrix: its first axis against all others."""
    return shape[0] if shape else 1, entry_count(shape[1:])
