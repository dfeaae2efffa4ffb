"""What a coder is: the one operation that writing, reading and measuring have in common.

A form describes its symbols once, as a sequence of binary decisions. Given an Encoder the description writes them,
given a Decoder it reads them (the values passed in are None), given a Meter it adds up their ideal length. The three
can therefore not disagree about the layout.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]

PRECISION = 24  # probabilities are whole multiples of 2^-24, which the range coder represents exactly
_TOTAL = 1 << PRECISION
LAG = 32  # a block is 1/32 of what was seen before it: fast on long planes, nearly free in length


class Model(Protocol):
    """The probability of the next decisions: an integer, so that every machine computes the same one."""

    def probability(self) -> int:
        """The probability that the decision is a one, in units of 2^-24."""

    def block(self) -> int:
        """How many decisions may share this probability before the counts are brought up to date."""

    def update(self, *, ones: int, total: int) -> None: ...


class Context:
    """Counts of one kind of decision; the Krichevsky-Trofimov estimate (ones + 1/2) / (total + 1) in integers."""

    __slots__ = ("ones", "total")

    def __init__(self) -> None:
        self.ones = 0
        self.total = 0

    def probability(self) -> int:
        share = ((2 * self.ones + 1) << PRECISION) // (2 * self.total + 2)
        return share if 0 < share < _TOTAL else min(max(share, 1), _TOTAL - 1)

    def block(self) -> int:
        return 1 + self.total // LAG

    def update(self, *, ones: int, total: int) -> None:
        self.ones += ones
        self.total += total


class _Half:
    """Even odds, never updated: one bit for each decision."""

    def probability(self) -> int:
        return _TOTAL // 2

    def block(self) -> int:
        return 1 << 20

    def update(self, *, ones: int, total: int) -> None:
        pass


HALF = _Half()


class Contexts(defaultdict[Hashable, Context]):
    """Contexts by name, each made when it is first used."""

    def __init__(self) -> None:
        super().__init__(Context)


class Coder(Protocol):
    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        """Code `count` decisions under one model. `values` is None exactly when the coder is reading."""

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        """What is about to be done, in steps and bytes: a decoder of untrusted bytes refuses what is too much."""
