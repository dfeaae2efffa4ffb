"""One operation, as rules for differences in the Euclidean norm see it: of rounding, or of two networks.

A difference is known for each row of a tensor's first axis, a sample, by an upper bound e on its norm. The run that
differs is computed with rounding; the values here are what it differs from.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from netpact.algebra.outward import round_up_float
from netpact.network.rounding.tolerance import Rounding


@dataclass(frozen=True)
class Carried:
    """A tensor that differs: e for each row, and what gives the norms of its rows, from above."""

    value: Tensor
    bound: Tensor
    measure: Callable[[], Tensor]

    @property
    def size(self) -> Tensor:
        return self.measure()


class Operation:
    """How it was called, and what it gave."""

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        return str(getattr(self.func, "__name__", self.func))

    @property
    @abstractmethod
    def rounding(self) -> Rounding:
        """Of the run that differs."""

    @property
    @abstractmethod
    def outcome(self) -> Tensor:
        """The values of the result."""

    @property
    @abstractmethod
    def outcome_size(self) -> Tensor:
        """The norms of the result's rows, from above."""

    @abstractmethod
    def first_carried(self) -> Carried:
        """The tensor that it was called with first."""

    @abstractmethod
    def added_bound(self, part: Tensor) -> Tensor:
        """e of a tensor that is lined up with the result to be added: entries count as often as they are used."""

    @abstractmethod
    def joined_bound(self, part: Tensor) -> Tensor | None:
        """e of a tensor that becomes a part of the result; None where it cannot differ."""

    def once(self, known: Hashable, compute: Callable[[], Any]) -> Any:
        """A number that depends on nothing but how the operation is called: computed once where somebody keeps it."""
        return compute()

    @property
    def root(self) -> float:
        """The root of how many entries a row of the result has: the norm of that many ones."""
        return root_of_row(self.outcome)

    @property
    def tiny(self) -> float:
        """What every operation may lose where its results are flushed to zero."""
        return self.rounding.underflow(1) * self.root

    def copies(self, entries: int) -> float:
        """The root of how often each of a row's so many entries is used where it is lined up with the result."""
        return round_up_float(math.sqrt(self.outcome[0].numel() / max(1, entries)))

    def repeat(self, tensor: Tensor) -> Any:
        """The same call with another first tensor."""
        return self.func(tensor, *self.args[1:], **self.kwargs)


def root_of_row(value: Tensor) -> float:
    return round_up_float(math.sqrt(value.numel() // len(value)))
