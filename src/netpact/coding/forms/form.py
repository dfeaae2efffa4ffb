"""What a coded tensor is: a form (its few parameters) and whole-number symbols."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from netpact.coding import Coder, Contexts
from netpact.core.errors import PactError

Symbols = NDArray[np.int64]
Weights = NDArray[np.float64]


class Effort(NamedTuple):
    """What making a tensor's weights from its symbols takes: steps of about a nanosecond, and bytes in use at once."""

    work: int
    memory: int


class Form(Protocol):
    """How symbols become weights. A form is a small frozen record; tensors of equal form share it in the message."""

    tag: ClassVar[int]
    name: ClassVar[str]

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
        """The tensor. Every machine computes the same numbers: whole numbers times one scale.

        Where whole numbers are summed, all sums stay below 2^53: then they are exact in every order.
        """


@dataclass(frozen=True, eq=False)
class CodedTensor:
    """One tensor of the network as it stands in the message."""

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
