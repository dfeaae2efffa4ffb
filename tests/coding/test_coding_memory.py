"""Memory for each coded weight stays bounded: of a hundred million weights every copy too many is 800 MB."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from netpact.coding import Contexts, Decoder, Encoder, ShortFloat
from netpact.coding.forms import Codebook, Form, Symbols, Ternary, Uniform

COUNT = 1 << 20
STEP = ShortFloat(exponent=-5, mantissa=0)


def rounded(deviation: float, limit: int) -> Symbols:
    drawn = np.random.default_rng(0).normal(size=COUNT) * deviation
    return np.clip(np.rint(drawn), -limit, limit).astype(np.int64)


# Bytes for each weight beside its symbol: what was measured, and a tenth.
CASES: dict[str, tuple[Form, Symbols, int, int]] = {
    "uniform, 4 bits": (Uniform(STEP), rounded(2.5, 7), 54, 38),
    "uniform, 8 bits": (Uniform(STEP), rounded(40.0, 127), 57, 40),
    "ternary": (Ternary(STEP), rounded(0.5, 1), 17, 16),
    "codebook": (Codebook(tuple((False, ShortFloat(0, i)) for i in range(16))), rounded(2.0, 7) + 8, 38, 37),
}


def peak_bytes(work: Callable[[], object]) -> float:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / COUNT
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", CASES)
def test_writing_and_reading_take_few_bytes_for_each_weight(name: str) -> None:
    form, symbols, most_writing, most_reading = CASES[name]
    encoder = Encoder()
    writing = peak_bytes(lambda: form.code_symbols(encoder, symbols, (COUNT,), Contexts()))
    message = encoder.to_bytes()
    decoded: list[Symbols] = []
    reading = peak_bytes(lambda: decoded.append(form.code_symbols(Decoder(message), None, (COUNT,), Contexts())))
    assert np.array_equal(decoded[0], symbols)
    assert writing <= most_writing
    assert reading <= most_reading
