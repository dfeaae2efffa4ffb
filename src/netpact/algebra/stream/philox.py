"""Philox4x32-10, a random function of a counter (Salmon, Moraes, Dror and Shaw 2011): no state, any block alone.

Four words c of 32 bits, two words of key; ten rounds of

    c' = (hi(B c2) ^ c1 ^ key0, lo(B c2), hi(A c0) ^ c3 ^ key1, lo(A c0)),   key += (U, V) mod 2^32 between rounds
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]
Wide = NDArray[np.uint64]

BLOCK_WORDS = 4
_ROUNDS = 10
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_MASK = 0xFFFFFFFF
_HALF = np.uint64(32)
_AT_A_TIME = 1 << 13  # blocks: the arrays of a round then stay within the caches


def philox_words(first: int, count: int, *, upper: tuple[int, int], key: tuple[int, int]) -> Words:
    """The words of `count` blocks: counters (block mod 2^32, block / 2^32, *upper) for block = first, first + 1, ..."""
    words = np.empty((count, BLOCK_WORDS), dtype=np.uint32)
    for start in range(0, count, _AT_A_TIME):
        stop = min(start + _AT_A_TIME, count)
        blocks = np.arange(stop - start, dtype=np.uint64) + np.uint64(first + start)
        fixed = [np.full(len(blocks), word, dtype=np.uint64) for word in upper]
        counters = [blocks & np.uint64(_MASK), blocks >> _HALF, *fixed]
        for place, word in enumerate(_mix(counters, key)):
            words[start:stop, place] = word
    return words.reshape(-1)


def _mix(counters: list[Wide], key: tuple[int, int]) -> list[Wide]:
    """Words of 32 bits stand in numbers of 64, so that a product keeps its upper half. The counters are used up."""
    mask = np.uint64(_MASK)
    c0, c1, c2, c3 = counters
    key0, key1 = key
    for _ in range(_ROUNDS):
        left = c0 * _MULTIPLIERS[0]
        right = c2 * _MULTIPLIERS[1]
        np.right_shift(right, _HALF, out=c0)
        np.right_shift(left, _HALF, out=c2)
        c0 ^= c1
        c0 ^= np.uint64(key0)
        c2 ^= c3
        c2 ^= np.uint64(key1)
        np.bitwise_and(right, mask, out=c1)
        np.bitwise_and(left, mask, out=c3)
        key0, key1 = (key0 + _KEY_STEPS[0]) & _MASK, (key1 + _KEY_STEPS[1]) & _MASK
    return [c0, c1, c2, c3]
