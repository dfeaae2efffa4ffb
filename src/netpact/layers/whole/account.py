"""Keeping account of integers: every tensor of a run knows how large its numbers can be, for any input.

A tensor's numbers are whole multiples of 2^-fraction, at most `most` of them in magnitude. Where `most` stays below
2^24 in float32, or 2^53 in float64, every sum in every order is exact. The account is made from clamps and coded
weights alone, never from the numbers of a sample, so what holds in one run holds in all; and it costs a run no more
than the calls do. Every operation that is not known to be exact is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor

from netpact.core.errors import PactError
from netpact.layers.whole.grid import FLOAT32, FLOAT64

_LIMITS = {torch.float32: FLOAT32, torch.float64: FLOAT64}
_slowly: ContextVar[bool] = ContextVar("slowly", default=False)


class TooLargeError(PactError):
    """A number may need more digits than its type has."""


class Account:
    """How large the numbers of a tensor can be. All views of one tensor share one account: one may be written to.

    raw  the network's input, moved about at most: any numbers, and no sums of them
    """

    __slots__ = ("fraction", "most", "raw")

    def __init__(self, most: int, fraction: int = 0, *, raw: bool = False) -> None:
        self.most, self.fraction, self.raw = most, fraction, raw

    def at(self, fraction: int) -> int:
        """The largest magnitude in units of 2^-fraction, which are not coarser than its own."""
        return self.most << (fraction - self.fraction)

    def raise_to(self, other: Account) -> None:
        """What is written into a tensor may be as large as either."""
        fraction = max(self.fraction, other.fraction)
        self.most, self.fraction = max(self.at(fraction), other.at(fraction)), fraction


class Counted(Tensor):
    """A tensor with its account; operations that have a rule hand it on, all others are refused."""

    account: Account

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        from netpact.layers.whole.exact_rules import apply_exactly

        with torch._C.DisableTorchFunctionSubclass():
            return apply_exactly(func, args, kwargs or {})


def counted(value: Tensor, account: Account, *, what: str) -> Counted:
    """The tensor with an account that its type can hold."""
    limit = _LIMITS.get(value.dtype, 0)
    if not account.raw and account.most >= limit:
        raise TooLargeError(
            f"{what} may reach {account.most:,} in units of 2^-{account.fraction}, and {value.dtype} holds "
            f"integers below {limit:,}",
            where="network",
            hint="compress with fewer bits, or clamp the outputs of the layers before (reach)",
        )
    found = value if isinstance(value, Counted) else value.as_subclass(Counted)
    found.account = account
    return found


@contextmanager
def in_integers() -> Iterator[None]:
    """Within this block sums are computed in 64-bit integers: slow, and nothing of it in floating point."""
    token = _slowly.set(True)
    try:
        yield
    finally:
        _slowly.reset(token)


def runs_in_integers() -> bool:
    return _slowly.get()
