"""Which decisions were made, and in which contexts: what two walks over the same message must agree on."""

from __future__ import annotations

import hashlib

import numpy as np

from netpact.coding.coder import Bits, Model

_MANY = 1 << 14  # decisions that are noted at once


class Transcript:
    """A coder that writes nothing: it notes each plane of decisions and its context, in one digest.

    Contexts are numbered as they are met. Two walks with equal digests made the same decisions at the same
    probabilities, since these follow from what was decided before; their messages are then equal.
    """

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=32)
        self._waiting = bytearray()  # most planes are short, and a digest is asked for once
        self._met: dict[int, tuple[int, Model]] = {}  # with the models, so that no other can have the id of one

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        if values is None or len(values) != count:
            raise ValueError("a transcript needs exactly the values it is to note")
        if id(model) not in self._met:
            self._met[id(model)] = len(self._met), model
            self._waiting += type(model).__name__.encode()  # one that learns is not one whose probabilities are fixed
        self._waiting += b"%d %d " % (self._met[id(model)][0], count)
        if count > _MANY:
            self._flush()
            self._digest.update(np.ascontiguousarray(values, dtype=np.bool_).data)
        else:
            self._waiting += values.tobytes()
            if len(self._waiting) > _MANY:
                self._flush()
        return values

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        pass  # what is noted was made here

    def digest(self) -> bytes:
        self._flush()
        return self._digest.digest()

    def _flush(self) -> None:
        self._digest.update(self._waiting)
        self._waiting.clear()
