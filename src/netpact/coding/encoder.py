"""Writing decisions: constriction's range coder, ended after as few bytes as possible."""

from __future__ import annotations

from functools import lru_cache

import constriction
import numpy as np

from netpact.coding.coder import PRECISION, Bits, Model

_bernoulli = constriction.stream.model.Bernoulli
_STATE_BYTES = 8  # the coder's state is 64 bits wide


@lru_cache(maxsize=1 << 16)
def bernoulli(probability: int) -> object:
    """The range coder's model for an integer probability; `perfect` keeps a multiple of 2^-24 exactly as it is.

    To make one takes longer than most calls of the coder. A message that was read is written again with the same ones:
    they are kept as long as there are not too many.
    """
    return _bernoulli(probability / (1 << PRECISION), perfect=True)


class Encoder:
    def __init__(self) -> None:
        self._coder = constriction.stream.queue.RangeEncoder()

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        if values is None or len(values) != count:
            raise ValueError("an encoder needs exactly the values it is to write")
        encode, start = self._coder.encode, 0
        while start < count:
            size = min(model.block(), count - start)
            part = values[start : start + size]
            # One decision as a plain number: an array takes several times as long.
            encode(int(part[0]) if size == 1 else part.astype(np.int32), bernoulli(model.probability()))
            model.update(ones=int(np.count_nonzero(part)), total=size)
            start += size
        return values

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        pass  # what is written was made here

    def to_bytes(self) -> bytes:
        return end_message(self._coder)


def end_message(coder: constriction.stream.queue.RangeEncoder) -> bytes:
    """The shortest byte string that a decoder, reading zeros behind it, takes for these decisions.

    Any number in [low, low + span) identifies them. constriction's own ending lies in that interval but takes whole
    32-bit words; here the ending is the number with the fewest bytes.
    """
    sealed = np.asarray(coder.get_compressed()).astype(">u4").tobytes()
    words, (low, span) = coder.pos()
    width = 4 * words + _STATE_BYTES
    sealed = sealed.ljust(width, b"\0")
    # `low` is known modulo 2^64 only; constriction's ending lies less than `span` above it, which gives the rest.
    tail_start = max(0, width - 2 * _STATE_BYTES)
    head, tail = sealed[:tail_start], int.from_bytes(sealed[tail_start:], "big")
    low_tail = tail - ((tail - low) % (1 << 64))
    if low_tail < 0:  # the borrow runs into the head: let the whole string be the tail
        head, tail_start, tail = b"", 0, int.from_bytes(sealed, "big")
        low_tail = tail - ((tail - low) % (1 << 64))
    for kept in range(width - tail_start + 1):
        unit = 1 << (8 * (width - tail_start - kept))
        number = -(-low_tail // unit)
        if number * unit < low_tail + span and number < 1 << (8 * kept):
            return (head + number.to_bytes(kept, "big")).rstrip(b"\0")
    raise AssertionError("the full width always identifies the decisions")
