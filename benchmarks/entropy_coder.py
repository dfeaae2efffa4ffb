"""How long a million decisions take to write and to read, and how far the bytes are from the ideal length.

Run: python benchmarks/entropy_coder.py
"""

from __future__ import annotations

import numpy as np
from recording import Row, keep_rows, median_seconds

from netpact.coding import Context, Decoder, Encoder, Meter

DECISIONS = 1_000_000
PROBABILITIES = (0.5, 0.3, 0.1, 0.02, 0.005)


def row(probability: float) -> Row:
    values = np.random.default_rng(0).random(DECISIONS) < probability

    def write() -> bytes:
        encoder = Encoder()
        encoder.bits(values, DECISIONS, Context())
        return encoder.to_bytes()

    writing, message = median_seconds(write)

    def read() -> object:
        return Decoder(message).bits(None, DECISIONS, Context())

    meter = Meter()
    meter.bits(values, DECISIONS, Context())
    overhead = 100.0 * (8 * len(message) / meter.total - 1)
    told: Row = {"p": probability, "bytes": len(message), "ideal bytes": meter.total / 8, "overhead %": overhead}
    return {**told, "write ms": 1000 * writing, "read ms": 1000 * median_seconds(read)[0]}


def main() -> None:
    keep_rows(__file__, map(row, PROBABILITIES))


if __name__ == "__main__":
    main()
