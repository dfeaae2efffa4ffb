"""A proven bound on rounding: how far any machine's logits can be from the ones computed here.

A network in a file is run by different machines, which sum in different orders. Every tensor of a float64 run carries a
second tensor `spread`: a run in the stated precision, with every sum in any order, and the run in real numbers stay
within `spread` of the values computed here, entry by entry. For a sum of n products with unit roundoff u

    |computed - exact| <= gamma_n * sum |a_i b_i|,   gamma_n = n u / (1 - n u)        (Higham 2002, section 3.1)

holds in every order of summation, with or without fused multiply-add, as long as nothing overflows: where a partial sum
might, the spread is infinite. Numbers below the smallest normal one may be flushed to zero.

Beside the spread a tensor may carry `length`: the same distance in the Euclidean norm, one number for each row of its
first axis (euclid.py). Each bounds the other; where only the length is known, it is the spread of every entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from netpact.core.checks import check_choice
from netpact.core.errors import PactError

# (unit roundoff, smallest normal number, highest safe number) of the precisions a network may be run in. What is below
# the second may be rounded coarsely or, on some machines, to zero. The third is a quarter of the largest power of two:
# a computed partial sum is at most twice the exact sum of magnitudes, since gamma <= 1, and that sum is rounded too.
_PRECISIONS = {
    "float32": (2.0**-24, 2.0**-126, 2.0**125),
    "float64": (2.0**-53, 2.0**-1022, 2.0**1021),
}
SMALLEST_FLOAT32 = 2.0**-126
# How the bits show a number below it: integers of that width, digits of the mantissa, the exponent that is not below.
_BITS = {torch.float32: (torch.int32, 23, 1), torch.float64: (torch.int64, 52, 1023 - 126)}
_OWN_UNIT = 2.0**-53  # of the float64 run that computes the values
_OUTWARD = 1 + 1e-9  # covers the rounding of the spreads themselves, which are sums of few positive numbers


class NoRuleError(Exception):
    """This way of calling an operation has no rule; the text follows the operation's name in the message."""


class BadSampleError(PactError):
    """A sample that an operation must not be given. row counts from 0 in the batch that is run."""

    def __init__(self, what: str, *, row: int, hint: str) -> None:
        self.row = row
        super().__init__(what, where=f"sample {row}", hint=hint)

    def at(self, place: int) -> PactError:
        """The same error, with the sample's place among all samples."""
        return PactError(self.what, where=f"sample {place}", hint=self.hint)


@dataclass
class Lengths:
    """That a run follows Euclidean lengths, and what it knows by now.

    alone    no spreads entry by entry where a length will do
    norms    of layers and moves, computed once for a network
    changes  how many operations have changed a tensor in place: what was known of tensors before does not count then
    """

    alone: bool
    norms: dict[Any, Any] = field(default_factory=dict)
    changes: int = 0


@dataclass
class Rounding:
    """One run's precision, and the operations it met that have no rule."""

    unit: float
    smallest: float
    highest: float
    collect: bool = False
    unknown: list[str] = field(default_factory=list)
    lengths: Lengths | None = None

    def gamma(self, terms: int) -> float:
        """Relative error of a sum of `terms` products, theirs and ours together."""
        total = terms * (self.unit + _OWN_UNIT)
        if total >= 0.5:
            raise PactError(f"a sum of {terms:,} terms cannot be bounded in this precision", hint="use float64")
        return total / (1 - total) * _OUTWARD

    def underflow(self, terms: int) -> float:
        """What `terms` products and their partial sums can lose by falling below the smallest normal number."""
        return 4 * terms * self.smallest

    def limit(self, spread: Tensor, size: Tensor, *, gain: float = 1.0, plus: float = 0.0) -> Tensor:
        """The spread of numbers of at most this size, made infinite where an operation on them may overflow.

        Everything that the operation computes on its way is at most  gain * size + plus  in magnitude.
        """
        if self.is_safe(size, gain=gain, plus=plus):
            return spread
        return torch.where(size * gain + plus <= self.highest, spread, torch.inf)

    def is_safe(self, size: Tensor, *, gain: float, plus: float) -> bool:
        """Whether no entry comes near the end of the range: one look at the largest of them."""
        return not size.numel() or float(size.amax()) * gain + plus <= self.highest

    @property
    def of_constants(self) -> Rounding:
        """For what is computed from a network's own numbers: a network in float64 may hold float32 constants."""
        return Rounding(*_PRECISIONS["float32"], self.collect, self.unknown)


_current: ContextVar[Rounding] = ContextVar("rounding")


def current_rounding() -> Rounding:
    return _current.get()


@contextmanager
def rounding(arithmetic: str, *, collect: bool = False, lengths: Lengths | None = None) -> Iterator[Rounding]:
    """Within this block, Spread tensors follow the rules of the given precision."""
    check_choice(arithmetic, _PRECISIONS, where="arithmetic")
    token = _current.set(Rounding(*_PRECISIONS[arithmetic], collect, lengths=lengths))
    try:
        yield _current.get()
    finally:
        _current.reset(token)


class Spread(Tensor):
    """A float64 tensor that carries its spread through every operation that has a rule, and refuses the others.

    length  for each row, the Euclidean norm of what it may be off; None where none is followed
    sums    where this is what a layer with weights gave: what euclid.py knows of it
    """

    length: Tensor | None
    sums: Any
    _spread: Tensor | None

    @property
    def spread(self) -> Tensor:
        if self._spread is not None:
            return self._spread
        assert self.length is not None
        with torch._C.DisableTorchFunctionSubclass():
            return self.length.view(-1, *(1,) * (self.dim() - 1)).expand(self.shape)

    @spread.setter
    def spread(self, spread: Tensor) -> None:
        self._spread = spread

    @property
    def has_spread(self) -> bool:
        """Whether it is known entry by entry."""
        return self._spread is not None

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        from netpact.network.rounding.euclid import follow
        from netpact.network.rounding.rules import apply_rule

        run = _current.get()
        with torch._C.DisableTorchFunctionSubclass():
            if any(issubclass(kind, Spread) and not issubclass(kind, Constant) for kind in types):
                return (apply_rule if run.lengths is None else follow)(func, args, kwargs or {}, run)
            return as_constant(apply_rule(func, args, kwargs or {}, run.of_constants))


class Constant(Spread):
    """Computed from the network's own numbers alone: the same for every sample, but rounded like everything else."""


def as_constant(result: Any) -> Any:
    """The same tensors, known not to depend on the input; anything else as it is."""
    if isinstance(result, (tuple, list)):
        return type(result)(as_constant(part) for part in result)
    if not isinstance(result, Spread):
        return result
    with torch._C.DisableTorchFunctionSubclass():
        constant = result.as_subclass(Constant)
        constant.spread, constant.length, constant.sums = result.spread, None, None
    return constant


def spread_of(tensor: Tensor) -> Tensor:
    return tensor.spread if isinstance(tensor, Spread) else torch.zeros_like(tensor)


def value_of(tensor: Tensor) -> Tensor:
    return tensor.as_subclass(Tensor) if isinstance(tensor, Spread) else tensor


def make_spread(value: Tensor, spread: Tensor | None, length: Tensor | None = None) -> Spread:
    wrapped = value.as_subclass(Spread)
    wrapped._spread, wrapped.length, wrapped.sums = spread, length, None
    return wrapped


def flushed_part(numbers: Tensor) -> Tensor:
    """For every entry of a float32 or float64 tensor, at least what changes where float32 subnormals are flushed to 0.

    Looks at the bits: a process that flushes would take such a number for zero in every comparison.
    """
    integers, digits, least = _BITS[numbers.dtype]
    bits = numbers.detach().contiguous().view(integers) & torch.iinfo(integers).max  # without the sign
    return torch.where((bits > 0) & ((bits >> digits) < least), SMALLEST_FLOAT32, 0.0).double()
