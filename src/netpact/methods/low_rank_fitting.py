"""Rounding a truncated matrix to the low-rank form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netpact.algebra.singular_values import SingularValues
from netpact.coding import Contexts, Meter, ShortFloat
from netpact.coding.forms import CodedTensor, LowRank
from netpact.coding.forms.low_rank import EXACT_BITS
from netpact.methods.fitting import zero_tensor

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_OCTAVES = 4  # of the step, two of the symbols: how far a few large entries may be cut off
_STEPS_PER_OCTAVE = 8


def round_low_rank(found: SingularValues, shape: tuple[int, ...], *, bits: int) -> CodedTensor:
    """Both factors in integers, in steps with the least squared error; components that round to 0 are left out.

    Component j is split evenly: a_j u_j and a_j v_j with a_j^2 = value_j / (step 2^shift_j). Rounding an entry by d
    then moves the matrix by step 2^shift_j a_j |d|. That is the same for every component if 2^shift_j = value_1 /
    value_j, and a given error then takes the fewest bits; shifts are the nearest integers.
    """
    # What is smaller by 2^53 rounds to 0 for any number of bits, and its ratio to the largest might overflow.
    least = np.ldexp(found.values.max(initial=0.0), -EXACT_BITS)
    found = found.truncate(int(np.count_nonzero(found.values > least)))
    while len(found.values):
        shifts = _shifts(found.values, bits=bits)
        step = _fit_step(found, shifts, bits=bits)
        left, right = _round(found, shifts, step, bits=bits)
        kept = left.any(axis=0) & right.any(axis=1)
        if kept.all():
            form = LowRank(step, bits, tuple(int(count) for count in np.bincount(shifts)))
            return CodedTensor(form, np.concatenate([left.ravel(), right.ravel()]), shape)
        found = SingularValues(found.left[:, kept], found.values[kept], found.right[kept])
    return zero_tensor(shape)


def code_length(tensor: CodedTensor) -> float:
    """What a tensor costs in a message of its own: its form's parameters and its symbols, in bits."""
    meter = Meter()
    type(tensor.form).code(meter, tensor.form)
    tensor.form.code_symbols(meter, tensor.symbols, tensor.shape, Contexts())
    return meter.total


def _shifts(values: Array, *, bits: int) -> Integers:
    wanted = np.rint(np.log2(values[0] / values)).astype(np.int64)
    # rank * 2^shift * (2^(bits-1))^2 <= 2^53: what the form allows.
    most = EXACT_BITS - 2 * (bits - 1) - len(values).bit_length()
    return np.clip(wanted, 0, most)


def _fit_step(found: SingularValues, shifts: Integers, *, bits: int) -> ShortFloat:
    limit = (1 << (bits - 1)) - 1
    peaks = np.maximum(np.abs(found.left).max(axis=0), np.abs(found.right).max(axis=1))
    widest = float((np.ldexp(found.values, -shifts) * np.square(peaks / limit)).max())
    places = range(-1, _OCTAVES * _STEPS_PER_OCTAVE)
    steps = {ShortFloat.nearest(widest * 2 ** (-place / _STEPS_PER_OCTAVE)) for place in places}

    def squared_error(step: ShortFloat) -> float:
        """To first order in the roundings; the vectors of a factor are orthonormal."""
        sizes = _sizes(found.values, shifts, step)
        left, right = _round(found, shifts, step, bits=bits)
        moved = np.square(found.left * sizes - left).sum(axis=0)
        moved += np.square(found.right * sizes[:, None] - right).sum(axis=1)
        return float((np.ldexp(found.values / found.values[0], shifts) * step.value * moved).sum())

    return min(sorted(steps, reverse=True), key=squared_error)


def _sizes(values: Array, shifts: Integers, step: ShortFloat) -> Array:
    return np.sqrt(np.ldexp(values, -shifts) / step.value)


def _round(found: SingularValues, shifts: Integers, step: ShortFloat, *, bits: int) -> tuple[Integers, Integers]:
    limit = (1 << (bits - 1)) - 1
    sizes = _sizes(found.values, shifts, step)
    left, right = found.left * sizes, found.right * sizes[:, None]
    return tuple(np.clip(np.rint(part), -limit, limit).astype(np.int64) for part in (left, right))  # type: ignore[return-value]
