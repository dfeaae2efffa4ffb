"""Powers of two that numbers are multiples of: what tells whether sums of products are exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MANTISSA_BITS = 53  # integers below 2^53 are float64 numbers


def unit_exponent(values: NDArray[np.floating]) -> int | None:
    """The largest j such that all values are multiples of 2^j; None for zeros, which are multiples of anything."""
    mantissas, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    whole = np.ldexp(mantissas, MANTISSA_BITS).astype(np.int64)
    used = whole != 0
    if not used.any():
        return None
    # Of each number the lowest bit that is set: frexp of 2^j gives j + 1.
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return int((exponents + lowest)[used].min()) - MANTISSA_BITS
