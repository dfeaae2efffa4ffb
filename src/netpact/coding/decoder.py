"""Reading decisions from untrusted bytes."""

from __future__ import annotations

import constriction
import numpy as np

from netpact.coding.budget import Budget
from netpact.coding.coder import Bits, Model
from netpact.coding.encoder import bernoulli, end_message
from netpact.coding.transcript import Transcript
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
        self._again = constriction.stream.queue.RangeEncoder()
        self._message = message
        self.transcript = Transcript()

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        if values is not None:
            raise ValueError("a decoder reads values, it is not given any")
        self._budget.charge(work=_DECISION * count, memory=count)
        decoded = np.empty(count, dtype=np.bool_)
        decode, encode, charge, start = self._coder.decode, self._again.encode, self._budget.charge, 0
        block, probability, update = model.block, model.probability, model.update
        try:
            while start < count:
                size = min(block(), count - start)
                charge(work=_CALL)
                known = bernoulli(probability())
                # One decision as a plain number: an array takes several times as long.
                if size == 1:
                    ones = decoded[start] = part = decode(known)
                else:
                    part = decode(known, size)
                    decoded[start : start + size] = part
                    ones = int(np.count_nonzero(part))
                encode(part, known)
                update(ones=ones, total=size)
                start += size
        except (AssertionError, ValueError) as error:
            raise PactError("these bytes are no message: the entropy coder cannot have written them") from error
        return self.transcript.bits(decoded, count, model)

    def is_shortest(self) -> bool:
        """Whether the message is what an encoder would have written for the decisions that were read so far."""
        return end_message(self._again) == self._message

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        self._budget.charge(work=work, memory=memory, kept=kept)
