"""Arrays of integers as planes of decisions.

All decisions of one kind come together ("is it zero?" for every entry, then "is it negative?" for every nonzero one,
...), so that each plane is one array operation and one adaptive context.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netpact.coding.coder import Bits, Coder, Contexts
from netpact.coding.numbers import code_flag, code_uint
from netpact.core.errors import PactError

Integers = NDArray[np.int64]

_CLASSES = 32  # magnitudes below 2^32
_SHORTEST_GAP_PLANE = 4096
_RARE = 64  # one mark in this many places, and gaps are shorter than a plane
_PREFIX_DEPTH = 3  # mantissa bits that are coded in the context of all bits above them
# Bytes in use at once for each number, when it is read or written; tests/coding/test_coding_memory.py measures them.
_OCTET = 8
_SYMBOL_BYTES = 9
_PLACE_BYTES = 24
_MAGNITUDE_BYTES = 57
_LONG_BYTES = 40
_INDEX_BYTES = 28


def code_integers(coder: Coder, values: Integers | None, count: int, contexts: Contexts) -> Integers:
    """Integers of either sign: zero?, negative?, then the bit length of the magnitude in unary, then its bits."""
    if values is not None and len(values) and max(-int(values.min()), int(values.max())) >= 1 << _CLASSES:
        raise PactError(f"a coded integer must lie within +-2^{_CLASSES}")
    nonzero = code_positions(coder, None if values is None else np.flatnonzero(values), count, contexts)
    rest = None if values is None else values[nonzero]
    negative = coder.bits(None if rest is None else rest < 0, len(nonzero), contexts["negative"])
    # In place, here and below: of a tensor of a hundred million entries every further copy is 800 MB.
    if rest is not None:
        np.abs(rest, out=rest)
    magnitude = _code_magnitudes(coder, rest, len(nonzero), contexts, "size")
    np.negative(magnitude, out=magnitude, where=negative)
    decoded = np.zeros(count, dtype=np.int64)
    decoded[nonzero] = magnitude
    return decoded


def code_positions(coder: Coder, values: Integers | None, count: int, contexts: Contexts) -> Integers:
    """Which of `count` places are marked: a plane of decisions, or the gaps between the marks where they are rare.

    The range coder wastes about 10^-4 bits on every decision, whatever its probability: too much for a plane of a
    million places with a hundred marks. Short planes have no such choice and pay nothing for it.
    """
    coder.charge(memory=_SYMBOL_BYTES * count)
    gaps = False
    if count >= _SHORTEST_GAP_PLANE:
        gaps = code_flag(coder, None if values is None else _are_rare(len(values), count))
    if not gaps:
        mask = coder.bits(None if values is None else _marked(values, count), count, contexts["nonzero"])
        marks = int(np.count_nonzero(mask))
        _refuse_other_choice(marks, count, gaps=gaps)
        coder.charge(memory=count + _PLACE_BYTES * marks)
        return np.flatnonzero(mask)
    marks = code_uint(coder, None if values is None else len(values))
    if marks > count:
        raise PactError(f"the message marks {marks:,} of {count:,} places")
    _refuse_other_choice(marks, count, gaps=gaps)
    steps = None if values is None else np.diff(values, prepend=-1)
    places = np.cumsum(_code_magnitudes(coder, steps, marks, contexts, "gap")) - 1
    if marks and not 0 <= int(places.min()) <= int(places.max()) < count:
        raise PactError(f"the message marks a place beyond the last of {count:,}")
    return places


def _code_magnitudes(coder: Coder, values: Integers | None, count: int, contexts: Contexts, name: str) -> Integers:
    """Integers from 1 up: the bit length in unary, then the bits below the leading one."""
    coder.charge(memory=_MAGNITUDE_BYTES * count)
    # What is told is taken apart class by class: each value leaves `values` when its length is known.
    decoded = np.zeros(count, dtype=np.int64)
    active = np.arange(count)
    for bits in range(1, _CLASSES + 1):
        if not len(active):
            return decoded
        longer = np.zeros(len(active), dtype=np.bool_)
        if bits < _CLASSES:
            long = None if values is None else values >= 1 << bits
            longer = coder.bits(long, len(active), contexts[name, "longer", bits])
        here = active[~longer]
        if bits > _OCTET:
            coder.charge(memory=_MAGNITUDE_BYTES * count + _LONG_BYTES * len(here))
        known = None if values is None else values[~longer]
        if known is not None:
            known -= 1 << (bits - 1)
        mantissa = code_indices(
            coder,
            known,
            len(here),
            bits=bits - 1,
            contexts=contexts,
            name=(name, "mantissa", bits),
        )
        mantissa += 1 << (bits - 1)
        decoded[here] = mantissa
        active = active[longer]
        values = None if values is None else values[longer]
    return decoded


def code_indices(
    coder: Coder,
    values: Integers | None,
    count: int,
    *,
    bits: int,
    contexts: Contexts,
    name: object,
    prefix_depth: int = _PREFIX_DEPTH,
) -> Integers:
    """Numbers from 0 to 2^bits - 1, highest bit first; the top bits in the context of the bits above them."""
    coder.charge(memory=_INDEX_BYTES * count)
    decoded = np.zeros(count, dtype=np.uint8 if bits <= _OCTET else np.int64)
    groups: list[tuple[int, Integers | None]] = [(0, None)]  # each prefix with its places; None: all
    for depth in range(bits if count else 0):
        bit = None if values is None else values & (1 << bits - 1 - depth) != 0
        decoded <<= 1
        longer: list[tuple[int, Integers | None]] = []
        for prefix, places in groups:
            here = slice(None) if places is None else places
            size = count if places is None else len(places)
            own = coder.bits(None if bit is None else bit[here], size, contexts[name, depth, prefix])
            decoded[here] |= own
            if depth + 1 < min(bits, prefix_depth):
                every = np.arange(count) if places is None else places
                parts = (every[~own], every[own])
                longer += [(2 * prefix + last, part) for last, part in enumerate(parts) if len(part)]
        groups = longer if depth + 1 < prefix_depth else [(0, None)]
    return decoded.astype(np.int64, copy=False)


def _are_rare(marks: int, count: int) -> bool:
    return marks * _RARE < count


def _refuse_other_choice(marks: int, count: int, *, gaps: bool) -> None:
    """What a writer would have done otherwise is refused here, so that whatever is read is written the same way."""
    if count >= _SHORTEST_GAP_PLANE and gaps != _are_rare(marks, count):
        raise PactError(f"the message marks {marks:,} of {count:,} places by {'gaps' if gaps else 'a plane'}")


def _marked(places: Integers, count: int) -> Bits:
    mask = np.zeros(count, dtype=np.bool_)
    mask[places] = True
    return mask
