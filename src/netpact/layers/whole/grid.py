"""Between which integers a layer works: how its input is rounded and clamped, how its sums become its output.

    q = round(clamp(x, low, high) * gain / 2^divide)        the layer's input, whole
    y = W q + b                                             sums of integers
    z = clamp(round(y * multiplier / 2^shift), +-reach)     the layer's output, whole

Rounding is to the nearest, ties to even. Everything is exact, hence the same on every machine, in every order of
summation and with or without fused multiply-add, as long as no number needs more digits than its type has: 24 binary
digits in float32, 53 in float64.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

import torch
from torch import Tensor

from netpact.core.checks import check_integer
from netpact.core.errors import PactError

FLOAT32, FLOAT64 = 1 << 24, 1 << 53  # below these every integer, and every sum of them, is exact
_MOST_SHIFT = 60  # far from the smallest normal float32, even for a multiplier of 1
_MOST_LEVELS = 1 << 29  # times a float32 number of 24 digits: exact in float64

# The largest value of each field; the smallest ones are how a message codes them.
MOST: Mapping[str, int] = MappingProxyType(
    {
        "levels": _MOST_LEVELS - 1,
        "low": 0,
        "high": FLOAT32 - 1,
        "gain": FLOAT32 - 1,
        "divide": _MOST_SHIFT,
        "shift": _MOST_SHIFT,
        "reach": FLOAT32 - 1,
    }
)


@dataclass(frozen=True)
class WholeGrid:
    """The numbers of one layer that are not in its tensors.

    levels  of a layer that reads the network's input: x becomes round(x * levels) first; 0 for one that reads
            integers
    reach   0 leaves the output as it is
    """

    levels: int
    low: int
    high: int
    gain: int
    divide: int
    shift: int
    reach: int

    def __post_init__(self) -> None:
        for field in fields(WholeGrid):
            value, most = getattr(self, field.name), MOST[field.name]
            least = 1 - FLOAT32 if field.name == "low" else 1 if field.name == "gain" else 0
            check_integer(value, where=field.name, least=least, most=most)
        if self.low == self.high:
            raise PactError("low and high must differ: every input would be 0", where="high")
        if self.furthest * self.gain >= FLOAT32:
            raise PactError(
                f"inputs up to {self.furthest:,} times {self.gain:,} need more than float32's 24 digits",
                where="gain",
                hint="clamp the input further, or take a coarser multiplier",
            )
        if not self.most:
            raise PactError("every input would be rounded to 0", where="divide")

    @property
    def furthest(self) -> int:
        """The largest magnitude that clamping leaves."""
        return max(-self.low, self.high)

    @property
    def most(self) -> int:
        """The largest magnitude of the rounded input."""
        return round_shifted(self.furthest * self.gain, self.divide)

    @property
    def rounds(self) -> bool:
        """Whether the clamped input is rounded at all."""
        return (self.gain, self.divide) != (1, 0)

    def round_input(self, x: Tensor) -> Tensor:
        """A new tensor of the type of x."""
        if self.levels:
            # In float64: a float32 number has 24 digits, so the product is exact.
            q = x.double().mul_(self.levels).round_().clamp_(self.low, self.high).to(x.dtype)
        else:
            q = x.clamp(self.low, self.high)
        return q.mul_(self.gain / 2**self.divide).round_() if self.rounds else q

    def round_output(self, y: Tensor, multiplier: Tensor) -> Tensor:
        """Changes y. The multiplier has its axes already, and is divided by 2^shift here: exact, however small."""
        z = y.mul_(multiplier * 2.0**-self.shift)
        if self.shift:
            z = z.round_()
        return z.clamp_(-self.reach, self.reach) if self.reach else z

    def __str__(self) -> str:
        return ", ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(WholeGrid))


def round_shifted(number: int, places: int) -> int:
    """number / 2^places to the nearest integer, ties to even: in integers."""
    if not places:
        return number
    below, half = number & ((1 << places) - 1), 1 << (places - 1)
    down = number >> places
    return down + (below > half or (below == half and down % 2 == 1))


def is_whole(tensor: Tensor) -> bool:
    return bool((torch.isfinite(tensor) & (tensor == torch.round(tensor))).all())
