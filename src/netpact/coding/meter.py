"""Adding up ideal code lengths, without writing anything."""

from __future__ import annotations

import math

import numpy as np

from netpact.coding.coder import PRECISION, Bits, Model


class Meter:
    """A coder that only counts: `total` is the ideal length in bits under the very probabilities the Encoder uses."""

    def __init__(self) -> None:
        self.total = 0.0

    def bits(self, values: Bits | None, count: int, model: Model) -> Bits:
        if values is None or len(values) != count:
            raise ValueError("a meter needs exactly the values it is to measure")
        start = 0
        while start < count:
            size = min(model.block(), count - start)
            ones = int(np.count_nonzero(values[start : start + size]))
            share = model.probability()
            zero_share = (1 << PRECISION) - share
            self.total += ones * (PRECISION - math.log2(share)) + (size - ones) * (PRECISION - math.log2(zero_share))
            model.update(ones=ones, total=size)
            start += size
        return values

    def charge(self, *, work: int = 0, memory: int = 0, kept: int = 0) -> None:
        pass  # what is written was made here
