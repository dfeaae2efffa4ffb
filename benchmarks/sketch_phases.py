"""The share of planted 64 x 64 matrices that is recovered from their sketches. No timing.

OMP_NUM_THREADS=1 python benchmarks/sketch_phases.py [--quick]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from recording import Row, keep_rows
from sketch import planted

from netpact.algebra import Sketcher, sketch_recover, sketch_side

_DRAWS = 10


def phase_rows(quick: bool) -> Iterator[Row]:
    p, draws = 64, 2 if quick else _DRAWS
    ways = {
        "per column, integer": ("column", "integer", 7),
        "per column, l1": ("column", "l1", 7),
        "per column, peeling": ("column", "peeling", 7),
        "per column, peeling, values to 10^6": ("column", "peeling", 10**6),
        "per row, integer": ("row", "integer", 7),
    }
    for per_row in (1,) if quick else (1, 2, 4, 8):
        for m in (16, 24) if quick else (16, 20, 24, 28, 32, 40, 48, 56):
            row: Row = {"nonzeros a row": per_row, "m": m, "sqrt(jp) log p": sketch_side(per_row, p)}
            for name, (per, solver, largest) in ways.items():
                count = 0
                for seed in range(draws):
                    sketcher = Sketcher(shape=(p, p), sides=(m, m), ones=5, seed=seed, per=per)
                    matrix = planted(p, per_row, seed, largest)
                    found = sketch_recover(sketcher.measure(matrix), sketcher, solver=solver)
                    count += bool(found) and np.array_equal(np.rint(found.matrix), matrix)
                row[name] = f"{count}/{draws}"
            yield row


if __name__ == "__main__":
    asked = "--quick" in sys.argv[1:]
    keep_rows(__file__, phase_rows(asked), quick=asked)
