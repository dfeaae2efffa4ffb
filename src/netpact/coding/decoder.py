"""Reading decisions from untrusted bytes."""

from __future__ import annotations

import constriction
import numpy as np

from netpact.coding.coder import Bits, Model
from netpact.coding.encoder import bernoulli
from netpact.errors import PactError

_PADDING = 8  # zeros behind the message: the coder's state is 64 bits wide


class Decoder:
    def __init__(self, message: bytes) -> None:
        padded = message + b"\0" * (_PADDING + -len(message) % 4)
        words = np.frombuffer(padded, dtype=">u4").astype(np.uint32)
        self._coder = constriction.stream.queue.RangeDecoder(words)

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        if values is not None:
            raise ValueError("a decoder reads values, it is not given any")
        decoded = np.empty(count, dtype=np.bool_)
        start = 0
        while start < count:
            size = min(model.block(), count - start)
            try:
                part = self._coder.decode(bernoulli(model.probability()), size)
            except (AssertionError, ValueError) as error:
                raise PactError("these bytes are no message: the entropy coder cannot have written them") from error
            decoded[start : start + size] = part
            model.update(ones=int(np.count_nonzero(part)), total=size)
            start += size
        return decoded
