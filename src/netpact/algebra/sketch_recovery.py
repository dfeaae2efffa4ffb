"""Sparse matrices from their sketches: one verb, four solvers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from netpact.algebra.sketch_decoding import decode_sketch
from netpact.algebra.sketch_l1 import recover_l1
from netpact.algebra.sketch_peeling import peel
from netpact.algebra.sketching import EXACT, Array, Integers, Sketcher, check_finite, read_array
from netpact.core.checks import check_choice, check_instance, check_integer, check_number
from netpact.core.display import Displayed, Row
from netpact.core.errors import PactError
from netpact.core.progress import Progress

SOLVERS = ("integer", "l1", "peeling", "linear-program")
_WHOLE = ("integer", "peeling")  # for sketches of integers
_TIGHT = 1e-7  # of the largest number of the sketch: how well the solver of linear programs meets its equations


@dataclass(frozen=True, eq=False, repr=False)
class SketchRecovery(Displayed):
    """What was found, and how sure that is.

    recovered  the matrix has the given sketch; by "l1" and "linear-program" its l1 norm is proven to be the least, up
               to the tolerance. That no other sparse matrix has that sketch is not proven by it
    residual   the largest difference between its sketch and the given one; exact for integers
    rounds     of the solver; for a linear program its iterations
    gap        "l1": the share by which the l1 norm may be above the least one; None for the other solvers
    """

    matrix: Integers | Array
    recovered: bool
    residual: float
    rounds: int
    solver: str
    sketcher: Sketcher
    gap: float | None = None

    def __bool__(self) -> bool:
        return self.recovered

    def display_facts(self) -> Row:
        nonzeros = int(np.count_nonzero(self.matrix))
        facts: Row = {"recovered": self.recovered, "solver": self.solver, "nonzeros": nonzeros, "rounds": self.rounds}
        return {**facts, "residual": self.residual, "gap": self.gap}

    def to_json(self) -> dict[str, object]:
        """Without the matrix."""
        sketcher = {name: getattr(self.sketcher, name) for name in ("shape", "sides", "ones", "seed", "layer", "per")}
        return {**self.display_facts(), "sketcher": sketcher}


def sketch_recover(
    values: ArrayLike,
    sketcher: Sketcher,
    *,
    solver: str | None = None,
    rounds: int = 400,
    tolerance: float = 1e-6,
    progress: Progress | None = None,
) -> SketchRecovery:
    """The sparse matrix X with the sketch A X B^T = values.

    solver     "integer": basis pursuit in fixed point, the same bits on every machine; default for integers
               "l1": basis pursuit in floating point; default for other numbers
               "peeling": combinatorial, for integers
               "linear-program": basis pursuit as a sparse Kronecker program by HiGHS; slow, for reference
    rounds     at most; of a linear program there is no limit
    tolerance  "l1": the gap at which it ends
    """
    check_instance(sketcher, Sketcher, where="sketcher", hint="Sketcher(shape=..., sides=..., ones=...)")
    given = read_array(values, where="values")
    if given.shape != sketcher.size:
        raise PactError(f"must be a matrix of shape {sketcher.size}, got {given.shape}", where="values")
    largest = check_finite(given, where="values")
    whole = np.issubdtype(given.dtype, np.integer)
    chosen = check_choice(solver or ("integer" if whole else "l1"), SOLVERS, where="solver")
    check_integer(rounds, where="rounds", least=1)
    check_number(tolerance, where="tolerance", above=0)
    if chosen in _WHOLE and (not whole or largest >= EXACT >> 16):
        raise PactError(
            f"the solver {chosen} needs integers below 2^37 in magnitude, got {given.dtype} up to {largest:,}",
            where="values",
            hint="use solver='l1'",
        )
    if chosen == "integer":
        decoded = decode_sketch(given.astype(np.int64), sketcher, rounds=rounds)
        matrix = np.zeros(sketcher.shape, dtype=np.int64) if decoded.matrix is None else decoded.matrix
        return _told(matrix, given, sketcher, chosen, decoded.rounds, recovered=decoded.matrix is not None)
    if chosen == "peeling":
        matrix, done, recovered = peel(given.astype(np.int64), sketcher, rounds=rounds)
        return _told(matrix, given, sketcher, chosen, done, recovered=recovered)
    reals = given.astype(np.float64)
    if chosen == "l1":
        found = recover_l1(reals, sketcher, rounds=rounds, tolerance=tolerance, progress=progress)
        recovered = found.gap <= tolerance
        return _told(found.matrix, reals, sketcher, chosen, found.rounds, recovered=recovered, gap=found.gap)
    from netpact.algebra.sketch_program import solve_program  # with scipy's optimizers

    solved, done, optimal = solve_program(reals, sketcher)
    result = _told(solved, reals, sketcher, chosen, done, recovered=optimal)
    if result.residual > _TIGHT * max(1.0, float(np.abs(reals).max())):
        return _told(solved, reals, sketcher, chosen, done, recovered=False)
    return result


def _told(
    matrix: Integers | Array,
    values: Integers | Array,
    sketcher: Sketcher,
    solver: str,
    rounds: int,
    *,
    recovered: bool,
    gap: float | None = None,
) -> SketchRecovery:
    residual = float(np.abs(sketcher.apply(matrix.astype(np.float64)) - values).max())
    return SketchRecovery(matrix, recovered, residual, rounds, solver, sketcher, gap)
