"""One operation on tensors that carry lengths, as the rules of length_rules.py and layer_lengths.py see it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from netpact.algebra.outward import norm_up, round_up_float
from netpact.network.rounding.tolerance import Constant, Lengths, NoRuleError, Rounding, Spread, value_of


@dataclass
class Call:
    """One operation: how it was called, and what it gave here.

    sums    where it is a layer with weights: what its rule knows, for the next operation
    spread  entry by entry, where the rule has that as well
    """

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    value: Any
    rounding: Rounding
    sums: Any = None
    spread: Tensor | None = None

    @property
    def name(self) -> str:
        return str(getattr(self.func, "__name__", self.func))

    @property
    def lengths(self) -> Lengths:
        assert self.rounding.lengths is not None
        return self.rounding.lengths

    @property
    def root(self) -> float:
        """The root of how many entries a row of the result has: the norm of that many ones."""
        return root_of_row(self.value)

    @property
    def tiny(self) -> float:
        """What every operation may lose where its results are flushed to zero."""
        return self.rounding.underflow(1) * self.root

    def repeat(self, tensor: Tensor) -> Any:
        """The same call with another first tensor."""
        return self.func(tensor, *self.args[1:], **self.kwargs)

    def once(self, known: Hashable, compute: Callable[[], Any]) -> Any:
        """A number that depends on nothing but how the operation is called, computed once for a network."""
        key = (self.name, known, _frozen((self.args[1:], self.kwargs)))
        if key not in self.lengths.norms:
            self.lengths.norms[key] = compute()
        return self.lengths.norms[key]


def _frozen(told: Any) -> Hashable:
    """Arguments as a key: two that are told apart by the operation are different keys."""
    if isinstance(told, (tuple, list)):
        return tuple(_frozen(entry) for entry in told)
    if isinstance(told, dict):
        return tuple((key, _frozen(entry)) for key, entry in sorted(told.items()))
    if isinstance(told, slice):
        return ("slice", *(_frozen(entry) for entry in (told.start, told.stop, told.step)))
    if told is None or told is Ellipsis or isinstance(told, (int, float, str, torch.memory_format)):
        return (type(told).__name__, told)
    raise NoRuleError(f"by a {type(told).__name__}")


def root_of_row(value: Tensor) -> float:
    return round_up_float(math.sqrt(value.numel() // len(value)))


def length_of(tensor: Any) -> Tensor:
    if not isinstance(tensor, Spread) or isinstance(tensor, Constant) or tensor.length is None:
        raise NoRuleError("of a tensor without rows")
    return tensor.length


def size_of(tensor: Tensor) -> Tensor:
    """The norm of each row of the values computed here, from above."""
    return norm_up(value_of(tensor))


def first_of(call: Call) -> Spread:
    length_of(call.args[0] if call.args else None)
    return call.args[0]
