"""A proven bound on rounding: how far any machine's logits can be from the ones computed here.

A network in a file is run by different machines, which sum in different orders. Every tensor of a float64 run carries a
second tensor `spread`: a run in the stated precision, with every sum in any order, and the run in real numbers stay
within `spread` of the values computed here, entry by entry. For a sum of n products with unit roundoff u

    |computed - exact| <= gamma_n * sum |a_i b_i|,   gamma_n = n u / (1 - n u)        (Higham 2002, section 3.1)

holds in every order of summation, with or without fused multiply-add.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from netpact.errors import PactError, one_of

# (unit roundoff, smallest normal number) of the precisions a network may be run in. What is below the second may be
# rounded coarsely or, on some machines, to zero.
_PRECISIONS = {"float32": (2.0**-24, 2.0**-126), "float64": (2.0**-53, 2.0**-1022)}
_OWN_UNIT = 2.0**-53  # of the float64 run that computes the values
_OUTWARD = 1 + 1e-9  # covers the rounding of the spreads themselves, which are sums of few positive numbers


class NoRuleError(Exception):
    """This way of calling an operation has no rule; the text follows the operation's name in the message."""


@dataclass
class Rounding:
    """One run's precision, and the operations it met that have no rule."""

    unit: float
    smallest: float
    collect: bool = False
    unknown: list[str] = field(default_factory=list)

    def gamma(self, terms: int) -> float:
        """Relative error of a sum of `terms` products, theirs and ours together."""
        total = terms * (self.unit + _OWN_UNIT)
        if total >= 0.5:
            raise PactError(f"a sum of {terms:,} terms cannot be bounded in this precision", hint="use float64")
        return total / (1 - total) * _OUTWARD

    def underflow(self, terms: int) -> float:
        """What `terms` products and their partial sums can lose by falling below the smallest normal number."""
        return 4 * terms * self.smallest


_current: ContextVar[Rounding] = ContextVar("rounding")


@contextmanager
def rounding(arithmetic: str, *, collect: bool = False) -> Iterator[Rounding]:
    """Within this block, Spread tensors follow the rules of the given precision."""
    if arithmetic not in _PRECISIONS:
        raise one_of(arithmetic, _PRECISIONS, option="arithmetic")
    unit, smallest = _PRECISIONS[arithmetic]
    token = _current.set(Rounding(unit, smallest, collect))
    try:
        yield _current.get()
    finally:
        _current.reset(token)


class Spread(Tensor):
    """A float64 tensor that carries its spread through every operation that has a rule, and refuses the others."""

    spread: Tensor

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        from netpact.network.rounding_rules import apply_rule

        with torch._C.DisableTorchFunctionSubclass():
            return apply_rule(func, args, kwargs or {}, _current.get())


def spread_of(tensor: Tensor) -> Tensor:
    return tensor.spread if isinstance(tensor, Spread) else torch.zeros_like(tensor)


def value_of(tensor: Tensor) -> Tensor:
    return tensor.as_subclass(Tensor) if isinstance(tensor, Spread) else tensor


def make_spread(value: Tensor, spread: Tensor) -> Spread:
    wrapped = value.as_subclass(Spread)
    wrapped.spread = spread
    return wrapped
