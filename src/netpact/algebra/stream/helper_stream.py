"""The helper random stream: named by a seed, a purpose and a layer; every part of it can be had alone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.algebra.stream.gaussian_table import gaussian_table
from netpact.algebra.stream.philox import BLOCK_WORDS, Words, philox_words
from netpact.core.checks import check_integer, check_text
from netpact.core.errors import PactError

_LIMIT = 1 << 32
MAX_SEED = _LIMIT - 1
_MOST_BLOCKS = 1 << 64
_WORD_OCTETS, _OCTET_SIGNS, _WORD_GAUSSIANS = 4, 8, 2
_PLACE_BITS, _SIGN_BIT = 11, 15  # of the 16 bits of a Gaussian: its place in the half table, and its sign


@dataclass(frozen=True)
class Stream:
    """Random integers that a decoder regenerates: independent of libraries, machines, and what was drawn before.

    seed     0 to 2^32 - 1; where it was chosen by looking at data it is coded in the message
    purpose  what the numbers are for; streams of two purposes have nothing in common
    layer    0 to 2^32 - 1; so have those of two layers

    Word w is word w mod 4 of Philox4x32-10 at the counter (b mod 2^32, b / 2^32, layer, 0), b = w / 4 rounded down,
    under the key (seed, first 32 bits of the purpose's SHA-256, big-endian).
    """

    seed: int
    purpose: str
    layer: int = 0

    def __post_init__(self) -> None:
        for name in ("seed", "layer"):
            check_integer(getattr(self, name), where=name, least=0, most=MAX_SEED)
        check_text(self.purpose, where="purpose")

    def words(self, start: int, count: int) -> Words:
        """`count` words of 32 bits from word `start` on."""
        first, skipped = divmod(start, BLOCK_WORDS)
        blocks = -(-(skipped + count) // BLOCK_WORDS)
        if start < 0 or count < 0 or first + blocks > _MOST_BLOCKS:
            raise PactError(f"a stream has words 0 to 2^66 - 1, got {count} from {start} on", where="stream")
        name = int.from_bytes(hashlib.sha256(self.purpose.encode()).digest()[:4], "big")
        words = philox_words(first, blocks, upper=(self.layer, 0), key=(self.seed, name))
        return words[skipped : skipped + count]

    def octets(self, start: int, count: int) -> NDArray[np.uint8]:
        """Bytes: four to a word, the lowest first."""
        first, skipped = divmod(start, _WORD_OCTETS)
        words = self.words(first, -(-(skipped + count) // _WORD_OCTETS))
        return words.astype("<u4", copy=False).view(np.uint8)[skipped : skipped + count]

    def signs(self, start: int, count: int) -> NDArray[np.int8]:
        """+1 or -1: one bit each, eight to an octet, the lowest first; a one is -1."""
        first, skipped = divmod(start, _OCTET_SIGNS)
        octets = self.octets(first, -(-(skipped + count) // _OCTET_SIGNS))
        bits = np.unpackbits(octets, bitorder="little")[skipped : skipped + count].astype(np.int8)
        return np.int8(1) - 2 * bits

    def keys(self, start: int, count: int) -> NDArray[np.uint64]:
        """Numbers of 64 bits: two words each, the lower first."""
        words = self.words(2 * start, 2 * count)
        return words.astype("<u4", copy=False).view("<u8").astype(np.uint64, copy=False)

    def gaussians(self, start: int, count: int) -> NDArray[np.int64]:
        """Normal numbers in units of GAUSSIAN_UNIT, from a table: 16 bits each, two to a word, the lower first.

        The lowest 11 bits are the place in the table of magnitudes, the highest is the sign (a one is negative).
        """
        first, skipped = divmod(start, _WORD_GAUSSIANS)
        words = self.words(first, -(-(skipped + count) // _WORD_GAUSSIANS))
        halves = words.astype("<u4", copy=False).view("<u2")[skipped : skipped + count]
        magnitudes = gaussian_table()[halves & ((1 << _PLACE_BITS) - 1)]
        return np.where(halves >> _SIGN_BIT, -magnitudes, magnitudes)
