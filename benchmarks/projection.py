"""Random projection of one layer: independent signs (Arora et al. 2018, Algorithm 1) against the Hadamard variant.

Both directions: products with all matrices ("project", when a network is compressed) and their weighted sum
("expand", when a file is opened). Medians of three runs; peak memory is that of one more run, beyond the vector itself.
The matrices of the first row would take 2.7 GiB as single bits if they were stored.

Run: OMP_NUM_THREADS=1 python benchmarks/projection.py [--quick]      (about five minutes; --quick: a few seconds)
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from netpact.algebra.hadamard import HadamardProjector
from netpact.algebra.projection import Projector, SignProjector

REPEATS = 3
# name, weights, count, lowest ratio aimed at
LAYERS = (("512x512x3x3", 512 * 512 * 9, 10_000, 20.0), ("1024x784", 1024 * 784, 4_000, 20.0))
QUICK = (("128x64x3x3", 128 * 64 * 9, 1_000, 0.0),)


def median_time(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


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
    print(
        f"{'layer':>12}{'weights':>11}{'count':>8}  {'':8}{'signs s':>9}{'hadamard s':>12}{'ratio':>8}"
        f"{'signs MiB':>11}{'hadamard MiB':>14}"
    )
    for name, size, count, aim in layers:
        signs = directions(SignProjector(size=size, count=count, seed=0, layer=0))
        fast = directions(HadamardProjector(size=size, count=count, seed=0, layer=0))
        # A peak does not depend on how many matrices there are beyond the first few, only the time does.
        few = directions(SignProjector(size=size, count=min(count, 64), seed=0, layer=0))
        for direction, slow, quick, short in zip(("project", "expand"), signs, fast, few, strict=True):
            times = median_time(slow), median_time(quick)
            ratio = times[0] / times[1]
            row = f"{name:>12}{size:>11,}{count:>8,}  {direction:8}{times[0]:>9.2f}{times[1]:>12.3f}{ratio:>8.0f}"
            peaks = f"{peak_mebibytes(short):>11.0f}{peak_mebibytes(quick):>14.0f}"
            print(row + peaks, "" if ratio >= aim else f"   below the aim of {aim:g}")


if __name__ == "__main__":
    main()
