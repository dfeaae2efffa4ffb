"""Reading decisions from untrusted bytes."""

from __future__ import annotations

import constriction
import numpy as np

from netpact.coding.budget import Budget
from netpact.coding.coder import Bits, Model
from netpact.coding.encoder import bernoulli
from netpact.core.errors import PactError
from netpact.core.limits import Limits

# Steps, about nanoseconds, to read a decision and to write it again for the comparison; and for each call of the coder.
_DECISION = 50
_CALL = 10_000
_PADDING = 8  # zeros behind the message: the coder's state is 64 bits wide


class Decoder:
    def __init__(self, message: bytes, budget: Budget | None = None) -> None:
        self._budget = budget or Budget(Limits(), message_bytes=len(message))
        padded = message + b"\0" * (_PADDING + -len(message) % 4)
        words = np.frombuffer(padded, dtype=">u4").astype(np.uint32)
        self._coder = constriction.stream.queue.RangeDecoder(words)

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        if values is not None:
            raise ValueError("a decoder reads values, it is not given any")
        self._budget.charge(work=_DECISION * count, memory=count)
        decoded = np.empty(count, dtype=np.bool_)
        start = 0
        while start < count:
            size = min(model.block(), count - start)
            self._budget.charge(work=_CALL)
            try:
                # One decision as a plain number: an array takes several times as long.
                one = size == 1
                part = self._coder.decode(bernoulli(model.probability()), *(() if one else (size,)))
            except (AssertionError, ValueError) as error:
                raise PactError("these bytes are no message: the entropy coder cannot have written them") from error
            decoded[start : start + size] = part
            model.update(ones=int(part) if one else int(np.count_nonzero(part)), total=size)
            start += size
        return decoded

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        self._budget.charge(work=work, memory=memory, kept=kept)
