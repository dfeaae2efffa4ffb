"""A second range decoder, from the description in docs/format.md: slow, plain Python, no library.

It reads what netpact's Encoder writes, so the format does not rest on the library that writes it.
"""

from __future__ import annotations

import numpy as np

from netpact.coding import Bits
from netpact.coding.coder import Model
from netpact.core.errors import PactError

_STATE = (1 << 64) - 1
_WORD = (1 << 32) - 1
_TOTAL = 1 << 24


class ReferenceDecoder:
    """State: an interval of 64-bit numbers [low, low + span), modulo 2^64, and the number that the bytes spell."""

    def __init__(self, message: bytes) -> None:
        self._message = message
        self._position = 0
        self._low, self._span = 0, _STATE
        self._point = self._next_word() << 32 | self._next_word()

    def _next_word(self) -> int:
        """Four bytes, the highest first; behind the message there are zeros without end."""
        word = self._message[self._position : self._position + 4].ljust(4, b"\0")
        self._position += 4
        return int.from_bytes(word, "big")

    def decision(self, probability: int) -> bool:
        """One decision; `probability` of a one in units of 2^-24. Zeros have the lower part of the interval."""
        unit = self._span >> 24
        below = (_TOTAL - probability) * unit
        offset = (self._point - self._low) & _STATE
        if offset >= _TOTAL * unit:
            raise PactError("no encoder writes these bytes")
        one = offset >= below
        if one:
            self._low = (self._low + below) & _STATE
        self._span = probability * unit if one else below
        if self._span <= _WORD:
            self._low = self._low << 32 & _STATE
            self._point = (self._point << 32 & _STATE) | self._next_word()
            self._span <<= 32
        return one

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        assert values is None
        decoded: list[bool] = []
        while len(decoded) < count:
            probability = model.probability()
            block = [self.decision(probability) for _ in range(min(model.block(), count - len(decoded)))]
            model.update(ones=sum(block), total=len(block))
            decoded += block
        return np.array(decoded, dtype=np.bool_)

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        pass
