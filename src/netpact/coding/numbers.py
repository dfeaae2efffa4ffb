"""Single numbers as decisions: flags, choices, integers, short floating-point numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from netpact.coding.coder import HALF, Coder, Model
from netpact.core.errors import PactError

_LONGEST = 40  # bits of the largest number a message may hold; a hostile file cannot ask for more
_MANTISSA_BITS = 4
_MANTISSAS = 1 << _MANTISSA_BITS
_EXPONENTS = range(-64, 64)


def code_flag(coder: Coder, value: bool | None, model: Model = HALF) -> bool:
    return bool(coder.bits(None if value is None else np.array([value]), 1, model)[0])


def code_choice(coder: Coder, value: int | None, bits: int) -> int:
    """A number from 0 to 2^bits - 1 at even odds, highest bit first."""
    places = np.arange(bits)[::-1]
    coded = coder.bits(None if value is None else (value >> places & 1).astype(np.bool_), bits, HALF)
    return sum(1 << int(place) for place in places[coded])


def code_uint(coder: Coder, value: int | None) -> int:
    """An integer >= 0, Elias gamma of value + 1: 2 floor(log2(value + 1)) + 1 bits."""
    if value is not None and not 0 <= value < (1 << _LONGEST + 1) - 1:
        raise PactError(f"a number in the message is whole, from 0 to 2^{_LONGEST + 1} - 2, got {value}")
    length = 0
    while code_flag(coder, None if value is None else (value + 1).bit_length() - 1 > length):
        length += 1
        if length > _LONGEST:
            raise PactError(f"a number in the message has more than {_LONGEST} bits")
    return (1 << length) + code_choice(coder, None if value is None else value + 1 - (1 << length), length) - 1


def code_signed(coder: Coder, value: int | None) -> int:
    """An integer of either sign: 0, -1, 1, -2, 2, ... are numbered from 0 up."""
    folded = code_uint(coder, None if value is None else 2 * value if value >= 0 else -2 * value - 1)
    return -(folded + 1) // 2 if folded % 2 else folded // 2


@dataclass(frozen=True, order=True)
class ShortFloat:
    """A positive number (1 + mantissa/16) * 2^exponent: steps of 3 to 6 %, about ten bits in a message."""

    exponent: int
    mantissa: int

    def __post_init__(self) -> None:
        if self.exponent not in _EXPONENTS or not 0 <= self.mantissa < _MANTISSAS:
            raise PactError(
                f"a scale is (1 + mantissa/16) * 2^exponent with mantissa 0..15 and exponent {_EXPONENTS.start}.."
                f"{_EXPONENTS.stop - 1}, got mantissa {self.mantissa} and exponent {self.exponent}"
            )

    @property
    def value(self) -> float:
        return math.ldexp(_MANTISSAS + self.mantissa, self.exponent - _MANTISSA_BITS)

    @classmethod
    def nearest(cls, number: float) -> ShortFloat:
        """The nearest one, within 3.2 % in ratio; numbers outside the range go to its ends."""
        if not (math.isfinite(number) and number > 0):
            raise PactError(f"a scale is a positive finite number, got {number}")
        exponent = math.frexp(number)[1] - 1
        if exponent not in _EXPONENTS:
            return _SMALLEST if exponent < _EXPONENTS.start else _LARGEST
        mantissa = round((math.ldexp(number, -exponent) - 1) * _MANTISSAS)
        if mantissa < _MANTISSAS:
            return cls(exponent, mantissa)
        return cls(exponent + 1, 0) if exponent + 1 in _EXPONENTS else _LARGEST


_SMALLEST = ShortFloat(_EXPONENTS.start, 0)
_LARGEST = ShortFloat(_EXPONENTS.stop - 1, _MANTISSAS - 1)


def code_short_float(coder: Coder, value: ShortFloat | None) -> ShortFloat:
    exponent = code_signed(coder, None if value is None else value.exponent)
    return ShortFloat(exponent, code_choice(coder, None if value is None else value.mantissa, _MANTISSA_BITS))
