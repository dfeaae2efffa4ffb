"""The smallest sketch of a sparse tensor that decodes to it."""

from __future__ import annotations

import math

import numpy as np

from netpact.algebra.sketch_decoding import decode_sketch
from netpact.algebra.sketching import Sketcher
from netpact.coding.forms import CodedTensor, Sketched, Uniform, matrix_sides

_ROUNDS = 200
_GROWTH = 1.12  # of each side from one try to the next
_SHORT = 32  # a side of the tensor that is shorter is not shortened: columns of A would be too much alike


def fit_sketch(direct: CodedTensor, *, layer: int) -> CodedTensor | None:
    """The tensor by the smallest sketch, among those tried, whose decoding gives the same integers; None for zeros.

    It begins where basis pursuit with independent Gaussian sums has its transition, m1 m2 = 2 k ln(N / k) for k of N
    entries that are not 0 (Donoho and Tanner 2009), and grows. A sketch as large as the tensor is the tensor itself.
    """
    if not isinstance(direct.form, Uniform) or not direct.symbols.any():
        return None
    sides = matrix_sides(direct.shape)
    integers = direct.symbols.reshape(sides)
    nonzeros = int(np.count_nonzero(integers))
    numbers = max(4.0, 2 * nonzeros * math.log(max(math.e, integers.size / nonzeros)))
    while True:
        size = _split_numbers(sides, numbers)
        shortened = [m // 2 for m, p in zip(size, sides, strict=True) if m < p]
        ones = max(1, min([round(math.log(max(sides))), *shortened]))
        sketcher = Sketcher(shape=sides, sides=size, ones=ones, layer=layer)
        symbols = sketcher.measure_integers(integers)
        found = decode_sketch(symbols, sketcher, rounds=_ROUNDS)
        # The decoder of a file does exactly this: what it gives is what was certified, or no sketch is written.
        if found.matrix is not None and np.array_equal(found.matrix, integers):
            form = Sketched(direct.form.step, *size, ones, rounds=max(1, found.rounds), layer=layer)
            return CodedTensor(form, symbols.ravel(), direct.shape)
        numbers *= _GROWTH**2


def _split_numbers(sides: tuple[int, int], numbers: float) -> tuple[int, int]:
    """m1 and m2 with about this product, in the proportion of the sides."""
    share = math.sqrt(min(1.0, numbers / math.prod(sides)))
    short = [p if p < _SHORT else max(2, math.ceil(p * share)) for p in sides]
    for this, other in ((0, 1), (1, 0)):
        if sides[this] < _SHORT:
            short[other] = min(sides[other], max(2, math.ceil(numbers / sides[this])))
    return short[0], short[1]
