"""How long a million decisions take to write and to read, and how far the bytes are from the ideal length.

Run: python benchmarks/entropy_coder.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from netpact.coding import Context, Decoder, Encoder, Meter

DECISIONS = 1_000_000
PROBABILITIES = (0.5, 0.3, 0.1, 0.02, 0.005)
REPEATS = 3


def milliseconds(work: Callable[[], object]) -> float:
    """The median of a few runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1000.0 * statistics.median(times)


def row(probability: float) -> str:
    values = np.random.default_rng(0).random(DECISIONS) < probability

    def write() -> bytes:
        encoder = Encoder()
        encoder.bits(values, DECISIONS, Context())
        return encoder.to_bytes()

    message = write()

    def read() -> object:
        return Decoder(message).bits(None, DECISIONS, Context())

    meter = Meter()
    meter.bits(values, DECISIONS, Context())
    overhead = 100.0 * (8 * len(message) / meter.total - 1)
    times = f"{milliseconds(write):>12.1f}{milliseconds(read):>12.1f}"
    return f"{probability:>8}{len(message):>12,}{meter.total / 8:>14,.1f}{overhead:>12.4f}{times}"


def main() -> None:
    print(f"{'p':>8}{'bytes':>12}{'ideal bytes':>14}{'overhead %':>12}{'write ms':>12}{'read ms':>12}")
    for probability in PROBABILITIES:
        print(row(probability))


if __name__ == "__main__":
    main()
