"""Functions over shards that the tests hand to workers. No torch: a worker is there sooner."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from netpact.datasets import ArraySamples
from netpact.runs import JsonValue
from netpact.runs.parcels import parcel

BATCH = 256  # four of them are a shard


def images(count: int = 6000) -> ArraySamples:
    drawn = np.random.default_rng(0)
    return ArraySamples(
        drawn.integers(0, 256, (count, 1, 4, 4), dtype=np.uint8), drawn.integers(0, 3, count), "many", 3
    )


def look(shard: str, folder: str, free: int) -> JsonValue:
    """What is in a shard; those from sample `free` on wait until the gate is open."""
    given = parcel(shard)
    first = int(given.places[0])
    with open(Path(folder) / "shards.txt", "a") as out:
        out.write(f"{first}\n")
    while first >= free and not (Path(folder) / "gate").exists():
        time.sleep(0.02)
    batches = list(given.batches(BATCH))
    return [
        first,
        float(sum(x.astype(np.float64).sum() for x, _, _ in batches)),
        int(sum(y.sum() for _, y, _ in batches)),
        int(sum(places.sum() for _, _, places in batches)),
    ]


def seen(folder: Path) -> list[int]:
    """The first samples of the shards that were begun."""
    log = folder / "shards.txt"
    return [int(line) for line in log.read_text().split()] if log.exists() else []
