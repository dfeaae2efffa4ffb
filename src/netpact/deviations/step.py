"""One operation while two networks are compared: how it was called, and what it gave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from netpact.algebra.outward import norm_up, round_up
from netpact.deviations.deviation import Deviation, LayerTensor, Walk, size_of
from netpact.network.rounding.operation import Carried, Operation
from netpact.network.rounding.tolerance import NoRuleError, Rounding, value_of


@dataclass(frozen=True)
class Placed:
    """A bound for each sample, and the axis of the result that counts them."""

    bound: Tensor
    axis: int


@dataclass(frozen=True)
class Step(Operation):
    """One operation: how it was called, and what it gave in the network that is run."""

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    walk: Walk

    @property
    def rounding(self) -> Rounding:
        """Of the other network."""
        return self.walk.other

    @property
    def outcome(self) -> Tensor:
        return value_of(self.result)

    @property
    def outcome_size(self) -> Tensor:
        return size_of(self.result)

    @property
    def first(self) -> Deviation:
        return as_deviation(self.args[0] if self.args else None)

    def first_carried(self) -> Carried:
        x = self.first
        return Carried(value_of(x.held), x.bound, partial(size_of, x.held))

    def added_bound(self, part: Tensor) -> Tensor:
        known = self.operand(part)
        return self.copies(known.size[0].numel()) * known.bound

    def joined_bound(self, part: Tensor) -> Tensor:
        return self.operand(part).bound if isinstance(part, LayerTensor) else as_deviation(part).bound

    def operand(self, entry: Any) -> Operand:
        """A tensor that comes from the input, a parameter of both networks, or a number, which is rounded."""
        samples, axes = self.outcome.shape[0], self.outcome.dim()
        if isinstance(entry, (int, float)):
            size = torch.full((1,) * axes, abs(float(entry)), dtype=torch.float64)
            return Operand(size, torch.full((samples,), self.rounding.gamma(1) * abs(entry), dtype=torch.float64))
        if isinstance(entry, LayerTensor):
            one, other = entry.pair()
            size = one.abs().reshape((1,) * (axes - one.dim()) + tuple(one.shape))
            apart = (one - other).abs().reshape(size.shape)
            rows = apart if size.shape[0] == samples else apart.expand(samples, *size.shape[1:])
            return Operand(size, norm_up(rows))
        held = as_deviation(entry)
        size = value_of(held.held).abs() + held.held.spread
        if size.dim() != axes or size.shape[0] != samples:
            raise NoRuleError("that lines the samples up with another axis")
        return Operand(size, held.bound)

    def picked(self, bound: Tensor) -> Tensor:
        """Where entries are picked, not computed, there is nothing to round; small ones may still be lost."""
        return round_up(bound + self.tiny)


@dataclass(frozen=True)
class Operand:
    """size: magnitudes of the entries, with as many axes as the result; bound: e for each sample."""

    size: Tensor
    bound: Tensor

    @property
    def norm(self) -> Tensor:
        return norm_up(self.size.expand(len(self.bound), *self.size.shape[1:]))


def as_deviation(value: Any) -> Deviation:
    if not isinstance(value, Deviation):
        raise NoRuleError(f"of a {type(value).__name__} that does not come from the input")
    return value
