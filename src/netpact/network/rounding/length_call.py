"""One operation on tensors that carry lengths, as the rules of length_rules.py and layer_lengths.py see it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from netpact.algebra.outward import norm_up
from netpact.network.rounding.operation import Carried, Operation
from netpact.network.rounding.tolerance import Constant, Lengths, NoRuleError, Rounding, Spread, value_of


@dataclass
class Call(Operation):
    """One operation: how it was called, and what it gave here.

    run     the precision, and the lengths that are known
    sums    where it is a layer with weights: what its rule knows, for the next operation
    spread  entry by entry, where the rule has that as well
    """

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    value: Any
    run: Rounding
    sums: Any = None
    spread: Tensor | None = None

    @property
    def rounding(self) -> Rounding:
        return self.run

    @property
    def outcome(self) -> Tensor:
        found: Tensor = self.value
        return found

    @property
    def outcome_size(self) -> Tensor:
        return norm_up(self.value)

    @property
    def lengths(self) -> Lengths:
        assert self.run.lengths is not None
        return self.run.lengths

    def first_carried(self) -> Carried:
        x = first_of(self)
        return Carried(value_of(x), length_of(x), partial(size_of, x))

    def added_bound(self, part: Tensor) -> Tensor:
        if isinstance(part, Constant):
            return norm_up(part.spread.expand(self.value.shape))
        if not isinstance(part, Spread):  # a parameter as it is
            return torch.zeros(len(self.value), dtype=torch.float64)
        if part.dim() != self.value.dim() or len(part) != len(self.value):
            raise NoRuleError("that lines the rows up with another axis")
        return self.copies(part.numel() // len(part)) * length_of(part)

    def joined_bound(self, part: Tensor) -> Tensor | None:
        if part.dim() < 1 or len(part) != len(self.value):
            raise NoRuleError("of other rows")
        if isinstance(part, Constant):
            return norm_up(part.spread)
        return length_of(part) if isinstance(part, Spread) else None

    def once(self, known: Hashable, compute: Callable[[], Any]) -> Any:
        """Computed once for a network."""
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
