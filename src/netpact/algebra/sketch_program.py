"""Basis pursuit as the linear program that it is: the slow reference for the other solvers."""

from __future__ import annotations

import numpy as np
from scipy import optimize, sparse

from netpact.algebra.sketching import Array, Sketcher


def solve_program(values: Array, sketcher: Sketcher) -> tuple[Array, int, bool]:
    """min sum(u + v) subject to (A kron B)(u - v) = y, u, v >= 0, by HiGHS: (u - v, iterations, whether optimal)."""
    operator = sparse.kron(sketcher.left, sketcher.right, format="csc")  # of X row by row
    entries = operator.shape[1]
    solved = optimize.linprog(
        np.ones(2 * entries),
        A_eq=sparse.hstack([operator, -operator], format="csc"),
        b_eq=values.ravel(),
        method="highs",
    )
    if solved.x is None:
        return np.zeros(sketcher.shape), int(solved.nit), False
    matrix = (solved.x[:entries] - solved.x[entries:]).reshape(sketcher.shape)
    return matrix, int(solved.nit), solved.status == 0
