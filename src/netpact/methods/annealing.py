"""Simulated annealing of a sparse matrix of signs: what is lowered is the certified bound itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.certificates import risk_bound
from netpact.core.progress import Progress, Stop
from netpact.methods.flips import Flips, RowMoves

# The search's own constants. They steer it and appear in no bound.
_HOT, _COLD = 1.3, 0.25  # the first and the last temperature, in bits: hotter, and marks of no use accumulate
_ENTRIES = 1 << 23  # features of samples looked at in one step
_MOVES = 8  # changes of one row before another one is looked at
_REPRICE = 200  # steps between two looks at what a bit costs
_RECORD = 20  # steps between two looks at the bound
_UNDECIDED = 8  # about one sample in this many can change sides by one move
_DELTA = 0.05
_STATES = np.array([-1, 0, 1], dtype=np.int8)


@dataclass(frozen=True)
class Found:
    """The best signs a search met and the bound (on ideal bits, without the header) they were judged by."""

    signs: NDArray[np.int8]
    score: float


def anneal(
    flips: Flips,
    start: NDArray[np.int8],
    *,
    steps: int,
    bit_price: float,
    random: np.random.Generator,
    progress: Progress | None,
    stop: Stop | None = None,
) -> Found:
    """From the given signs. A step looks at the changes of one row, and makes one of them or leaves the row."""
    signs, code = start.copy(), flips.code.cheapest(start)
    logits = flips.logits(signs)
    best = Found(start, bound_of(flips, start, bit_price=bit_price))
    width = max(1, min(flips.features.shape[1], _UNDECIDED * _ENTRIES // flips.samples))
    price, moves, row, left = 0.0, None, 0, 0
    columns = np.arange(flips.features.shape[1])
    for step in range(steps):
        if step % _REPRICE == 0:
            logits, moves = flips.logits(signs), None  # afresh, so that rounding does not add up
            price = bit_price * errors_per_bit(flips.errors(logits), flips.samples, code.message_bits(signs))
        if moves is None:
            row, left = int(random.integers(flips.classes)), _MOVES
            if width < len(columns):
                columns = np.sort(random.choice(flips.features.shape[1], size=width, replace=False))
            moves = flips.row(logits, row, columns if width < flips.features.shape[1] else None)
        temperature = price * _HOT * (_COLD / _HOT) ** (step / steps)
        gains = move_gains(moves, signs[row, columns], price * code.change_bits(signs, row)[:, columns])
        taken = _draw(gains / temperature, random)
        if taken is not None:
            state, place = taken
            change = int(_STATES[state]) - int(signs[row, columns[place]])
            logits[row] += change * flips.features[:, columns[place]]
            signs[row, columns[place]] = _STATES[state]
            moves.make(place, change)
            left -= 1
        if taken is None or not left:
            moves = None
        if step % _RECORD == _RECORD - 1 or step == steps - 1:
            score = _score(flips.errors(logits), flips.samples, bit_price * code.message_bits(signs))
            if score < best.score:
                best = Found(signs.copy(), score)
            if progress is not None:
                progress(step + 1, steps)
            if stop is not None and stop():
                break
    return best


def move_gains(moves: RowMoves, current: NDArray[np.int8], priced: NDArray[np.float64]) -> NDArray[np.float64]:
    """Errors less, minus priced bits more: a row for each new state, a column for each place; -inf for no change."""
    right = np.empty((len(_STATES), len(current)))
    up, down = moves.right_after(1), moves.right_after(-1)
    right[0], right[2] = down, up
    right[1] = np.where(current > 0, down, up)
    for sign in (-1, 1):
        marked = np.flatnonzero(current == sign)
        right[1 - sign, marked] = moves.right_after(-2 * sign, marked)
    gains = right - moves.right() - priced
    gains[current + 1, np.arange(len(current))] = -np.inf
    return gains


def _draw(exponents: NDArray[np.float64], random: np.random.Generator) -> tuple[int, int] | None:
    """One of them with odds exp(exponent), or none of them with odds 1."""
    highest = max(0.0, float(exponents.max()))
    odds = np.cumsum(np.exp(exponents - highest))
    drawn = random.random() * (odds[-1] + math.exp(-highest))
    if drawn >= odds[-1]:
        return None
    state, place = divmod(int(np.searchsorted(odds, drawn, side="right")), exponents.shape[1])
    return state, place


def bound_of(flips: Flips, signs: NDArray[np.int8], *, bit_price: float = 1.0) -> float:
    """What these signs would be judged by: the bound on ideal bits, without the header."""
    bits = bit_price * flips.code.cheapest(signs).message_bits(signs)
    return _score(flips.errors(flips.logits(signs)), flips.samples, bits)


def errors_per_bit(errors: int, samples: int, bits: float) -> float:
    """How many errors are as bad for the bound as one more bit, here."""
    more_errors, more_bits = max(1, samples // 200), max(8, int(bits) // 20)
    errors = min(errors, samples - more_errors)
    here = _score(errors, samples, bits)
    for_errors = (_score(errors + more_errors, samples, bits) - here) / more_errors
    for_bits = (_score(errors, samples, bits + more_bits) - here) / more_bits
    return for_bits / max(for_errors, 1e-9)


def _score(errors: int, samples: int, bits: float) -> float:
    return risk_bound(errors=errors, samples=samples, code_bits=max(0, math.ceil(bits)), delta=_DELTA)
