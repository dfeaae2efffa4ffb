"""One operation while two networks are compared: how it was called, and what it gave."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from netpact.algebra.outward import round_up, round_up_float
from netpact.deviations.deviation import Deviation, Walk
from netpact.network.rounding.tolerance import NoRuleError, value_of


@dataclass(frozen=True)
class Placed:
    """A bound for each sample, and the axis of the result that counts them."""

    bound: Tensor
    axis: int


@dataclass(frozen=True)
class Step:
    """One operation: how it was called, and what it gave in the network that is run."""

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    walk: Walk

    @property
    def first(self) -> Deviation:
        return as_deviation(self.args[0] if self.args else None)

    @property
    def root(self) -> float:
        """The root of how many entries the result has for one sample: the norm of that many ones."""
        return round_up_float(math.sqrt(value_of(self.result)[0].numel()))

    def copies(self, entries: int) -> float:
        """The root of how often each of a sample's so many entries is used where it is lined up with the result."""
        return round_up_float(math.sqrt(value_of(self.result)[0].numel() / max(1, entries)))

    def repeat(self, tensor: Tensor) -> Any:
        """The same call with another first tensor."""
        return self.func(tensor, *self.args[1:], **self.kwargs)

    def picked(self, bound: Tensor) -> Tensor:
        """Where entries are picked, not computed, there is nothing to round; small ones may still be lost."""
        return round_up(bound + self.walk.other.underflow(1) * self.root)


def as_deviation(value: Any) -> Deviation:
    if not isinstance(value, Deviation):
        raise NoRuleError(f"of a {type(value).__name__} that does not come from the input")
    return value
