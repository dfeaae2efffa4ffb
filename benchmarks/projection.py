"""Random projection of one layer: independent signs (Arora et al. 2018, Algorithm 1) against the Hadamard variant.

Both directions: products with all matrices ("project", when a network is compressed) and their weighted sum
("expand", when a file is opened). Medians of three runs; peak memory is that of one more run, beyond the vector itself.
The matrices of the first row would take 2.7 GiB as single bits if they were stored.

Run: OMP_NUM_THREADS=1 python benchmarks/projection.py [--quick]      (about five minutes; --quick: a few seconds)
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
from recording import Row, keep_rows, median_seconds

from netpact.algebra.hadamard import HadamardProjector
from netpact.algebra.projection import Projector, SignProjector

# name, weights, count, lowest ratio aimed at
LAYERS = (("512x512x3x3", 512 * 512 * 9, 10_000, 20.0), ("1024x784", 1024 * 784, 4_000, 20.0))
QUICK = (("128x64x3x3", 128 * 64 * 9, 1_000, 0.0),)


def peak_mebibytes(work: Callable[[], object]) -> float:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def directions(projector: Projector) -> tuple[Callable[[], object], Callable[[], object]]:
    random = np.random.default_rng(0)
    vector = random.standard_normal((1, projector.size))
    symbols = random.integers(-127, 128, (1, projector.count))
    return (lambda: projector.measure(vector)), (lambda: projector.combine(symbols))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    layers = QUICK if parser.parse_args().quick else LAYERS
    keep_rows(__file__, (row for layer in layers for row in compare(*layer)), quick=layers is QUICK)


def compare(name: str, size: int, count: int, aim: float) -> Iterator[Row]:
    signs = directions(SignProjector(size=size, count=count, seed=0, layer=0))
    fast = directions(HadamardProjector(size=size, count=count, seed=0, layer=0))
    # A peak does not depend on how many matrices there are beyond the first few, only the time does.
    few = directions(SignProjector(size=size, count=min(count, 64), seed=0, layer=0))
    for direction, slow, quick, short in zip(("project", "expand"), signs, fast, few, strict=True):
        times = median_seconds(slow)[0], median_seconds(quick)[0]
        told: Row = {"layer": name, "weights": size, "count": count, "direction": direction}
        told |= {"signs s": times[0], "hadamard s": times[1], "ratio": times[0] / times[1], "aim": aim}
        yield {**told, "signs MiB": peak_mebibytes(short), "hadamard MiB": peak_mebibytes(quick)}


if __name__ == "__main__":
    main()
