"""Reading decisions from untrusted bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import constriction
import numpy as np

from netpact.coding.budget import Budget
from netpact.coding.coder import LAG, PRECISION, Bits, Context, Model
from netpact.coding.encoder import bernoulli, end_message
from netpact.coding.transcript import Transcript
from netpact.core.errors import PactError
from netpact.core.limits import Limits

# Steps, about nanoseconds, to read a decision and to write it again for the comparison; and for each call of the coder.
_DECISION = 50
_CALL = 10_000
_FEW = 6  # decisions that are sooner read one by one, as plain numbers, than as an array
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
        self._noting = True

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        if values is not None:
            raise ValueError("a decoder reads values, it is not given any")
        self._budget.charge(work=_DECISION * count, memory=count)
        decoded = np.empty(count, dtype=np.bool_)
        try:
            if type(model) is Context:
                self._read_counted(decoded, model)
            else:
                self._read(decoded, model)
        except (AssertionError, ValueError) as error:
            raise PactError("these bytes are no message: the entropy coder cannot have written them") from error
        return self.transcript.bits(decoded, count, model) if self._noting else decoded

    def _read(self, decoded: Bits, model: Model) -> None:
        start = 0
        while start < len(decoded):
            end = min(start + model.block(), len(decoded))
            self._budget.charge(work=_CALL)
            known = bernoulli(model.probability())
            # One decision as a plain number: an array takes several times as long.
            decoded[start:end] = part = self._coder.decode(known, *() if end == start + 1 else (end - start,))
            self._again.encode(part, known)
            model.update(ones=int(np.count_nonzero(part)), total=end - start)
            start = end

    def _read_counted(self, decoded: Bits, context: Context) -> None:
        """The same with the methods of a context written out: nearly all blocks are of these, and most are short."""
        start = blocks = self._read_first(decoded, context) if context.total < LAG else 0
        decode, encode = self._coder.decode, self._again.encode
        ones, total, count = context.ones, context.total, len(decoded)
        while start < count:
            end = start + 1 + total // LAG
            if end > count:
                end = count
            known = bernoulli(((2 * ones + 1) << PRECISION) // (2 * total + 2) or 1)
            total += end - start
            blocks += 1
            if end - start < _FEW:
                for place in range(start, end):
                    decoded[place] = bit = decode(known)
                    encode(bit, known)
                    ones += bit
            else:
                decoded[start:end] = part = decode(known, end - start)
                encode(part, known)
                ones += int(np.count_nonzero(part))
            start = end
        context.ones, context.total = ones, total
        # Afterwards, since blocks grow: however long the plane, there are some hundred at most.
        self._budget.charge(work=_CALL * blocks)

    def _read_first(self, decoded: Bits, context: Context) -> int:
        """While a context is new, each decision is a block of its own; how many there were."""
        decode, encode, models = self._coder.decode, self._again.encode, _first_models()
        ones, bits = context.ones, list[int]()
        for total in range(context.total, min(context.total + len(decoded), LAG)):
            known = models[total][ones]
            bit = decode(known)
            encode(bit, known)
            bits.append(bit)
            ones += bit
        decoded[: len(bits)] = bits
        context.update(ones=sum(bits), total=len(bits))
        return len(bits)

    @contextmanager
    def unnoted(self) -> Iterator[None]:
        """Decisions that need not be compared with those of another walk: they follow from what they are read as."""
        self._noting = False
        try:
            yield
        finally:
            self._noting = True

    def is_shortest(self) -> bool:
        """Whether the message is what an encoder would have written for the decisions that were read so far."""
        return end_message(self._again) == self._message

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        self._budget.charge(work=work, memory=memory, kept=kept)


@cache
def _first_models() -> list[list[object]]:
    """For a context that has seen `total` decisions, `ones` of them ones: models[total][ones]."""
    return [[_model(ones, total) for ones in range(total + 1)] for total in range(LAG)]


def _model(ones: int, total: int) -> object:
    context = Context()
    context.update(ones=ones, total=total)
    return bernoulli(context.probability())
