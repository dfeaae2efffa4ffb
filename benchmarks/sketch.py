"""Recovery of sparse matrices from their sketches: seconds and memory of each solver.

OMP_NUM_THREADS=1 python benchmarks/sketch.py [--quick]

HiGHS is ended after two minutes: its time is then at least that.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from recording import Row, keep_rows

from netpact.algebra import Sketcher, sketch_recover

_LIMIT = 120.0  # seconds
_CASES = ((32, 24, 5), (64, 36, 5), (128, 56, 5), (784, 180, 7))


def planted(p: int, per_row: int, seed: int, largest: int) -> NDArray[np.int64]:
    random, matrix = np.random.default_rng(seed), np.zeros((p, p), dtype=np.int64)
    for _ in range(per_row):
        matrix[np.arange(p), random.permutation(p)] = random.integers(1, largest + 1, p) * random.choice([-1, 1], p)
    return matrix


def _run(p: int, m: int, ones: int, solver: str, answer: object) -> None:
    matrix, sketcher = planted(p, 2, 0, 7), Sketcher(shape=(p, p), sides=(m, m), ones=ones)
    values, start = sketcher.measure(matrix), time.perf_counter()
    found = sketch_recover(values, sketcher, solver=solver)
    seconds = time.perf_counter() - start
    right = bool(found) and np.array_equal(np.rint(found.matrix), matrix)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answer.put((seconds, right, peak))  # type: ignore[attr-defined]


def timed(p: int, m: int, ones: int, solver: str) -> tuple[str, str, str]:
    """In a process of its own, for its memory and its end."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    worker = context.Process(target=_run, args=(p, m, ones, solver, answer))
    worker.start()
    worker.join(_LIMIT)
    if worker.is_alive():
        worker.terminate()
        return f"> {_LIMIT:.0f}", "no", "-"
    seconds, right, peak = answer.get()
    return f"{seconds:.3f}" if seconds < 10 else f"{seconds:.0f}", "yes" if right else "no", f"{peak:.0f}"


def speed_rows(quick: bool) -> Iterator[Row]:
    for p, m, ones in _CASES[: 1 if quick else None]:
        for solver in ("integer", "l1", "peeling", "linear-program"):
            if solver == "linear-program" and p > 128:
                continue
            seconds, right, peak = timed(p, m, ones, solver)
            sizes: Row = {"p": p, "m": m, "ones": ones, "solver": solver}
            yield {**sizes, "seconds": seconds, "recovered": right, "MB": peak}


if __name__ == "__main__":
    asked = "--quick" in sys.argv[1:]
    keep_rows(__file__, speed_rows(asked), quick=asked)
