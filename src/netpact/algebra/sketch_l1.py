"""Basis pursuit for sketches of real numbers: first-order rounds, then least squares on the support, and a proof.

The Kronecker structure keeps it small: with A = U_A S_A V_A^T and B alike, the projection onto {X: A X B^T = Y} is
X - V_A (V_A^T X V_B - T) V_B^T, T = S_A^-1 U_A^T Y U_B S_B^-1, and no matrix is larger than X.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.algebra.sketching import Array, Sketcher
from netpact.algebra.splitting import Iterate, split
from netpact.core.progress import Progress

Places = NDArray[np.intp]
_CHECK_EVERY = 10  # rounds
_MOST_SUPPORT = 6000  # entries in a system of equations: its matrix has 288 MB
_FEASIBLE = 1e-9  # of the largest number of the sketch
_RANK_TOLERANCE = 1e-10
_THRESHOLD, _LEAST = 0.25, 0.001  # of the largest entry at the start
_KEPT = 1e-7  # of the largest entry: what is smaller is no part of the support


@dataclass(frozen=True, eq=False)
class LeastNorm:
    """gap: how far |matrix|_1 can be above the least l1 norm, in shares of it; inf while nothing feasible was found."""

    matrix: Array
    rounds: int
    residual: float
    gap: float

    @property
    def order(self) -> tuple[float, float]:
        return self.gap, self.residual


def recover_l1(
    values: Array, sketcher: Sketcher, *, rounds: int, tolerance: float, progress: Progress | None
) -> LeastNorm:
    """The matrix of least l1 norm with this sketch; ends when its gap is within the tolerance."""
    left, right = _Row.of(sketcher.left.toarray()), _Row.of(sketcher.right.toarray())
    inside = left.shrink(right.shrink(values.T).T)
    start = left.space @ inside @ right.space.T
    largest = float(np.abs(start).max())
    if not values.any() or largest == 0:
        return LeastNorm(np.zeros(sketcher.shape), 0, float(np.abs(values).max()), 0.0 if not values.any() else np.inf)

    def project(matrix: Array) -> Array:
        return np.asarray(matrix - left.space @ (left.space.T @ matrix @ right.space - inside) @ right.space.T)

    best = LeastNorm(start, 0, np.inf, np.inf)
    steps = split(project, start, threshold=_THRESHOLD * largest, least=_LEAST * largest, half=lambda dual: dual / 2)
    before = 0
    for done, iterate in enumerate(steps, start=1):
        if done % _CHECK_EVERY == 0 or done == rounds:
            found = [best, _as_it_is(values, sketcher, iterate, done)]
            support = np.flatnonzero(np.abs(iterate.sparse) > _KEPT * largest)
            if len(support) == before <= min(_MOST_SUPPORT, values.size):
                found.append(_polish(values, sketcher, support, iterate, done))
            best, before = min(found, key=lambda one: one.order), len(support)
            if progress is not None:
                progress(done, rounds)
        if done >= rounds or best.gap <= tolerance:
            return LeastNorm(best.matrix, done, best.residual, best.gap)
    raise AssertionError("the rounds have no end")


def _gap(found: Array, dual: Array) -> float:
    """By weak duality, for X of the given sketch and W in the range of the adjoint:

    |X|_1 - |X'|_1 <= |X|_1 - <W, X> / max(1, |W|_max)   for every other X' of that sketch, as <W, X'> = <W, X>
    """
    primal = float(np.abs(found).sum())
    return abs(primal - float((dual * found).sum()) / max(1.0, float(np.abs(dual).max()))) / primal


def _as_it_is(values: Array, sketcher: Sketcher, iterate: Iterate, rounds: int) -> LeastNorm:
    """What is on the constraint, with the rounds' own multiplier; its entries are small rather than 0."""
    residual = float(np.abs(sketcher.apply(iterate.feasible) - values).max())
    inside = residual <= _FEASIBLE * float(np.abs(values).max())
    gap = _gap(iterate.feasible, -iterate.multiplier / iterate.threshold) if inside else np.inf
    return LeastNorm(iterate.feasible, rounds, residual, gap)


def _polish(values: Array, sketcher: Sketcher, support: Places, iterate: Iterate, rounds: int) -> LeastNorm:
    """Least squares on the support, and by how much its l1 norm can be too large.

    The rounds' multiplier is made equal to the signs on the support, where it should be.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    rows, columns = np.divmod(support, sketcher.shape[1])
    # The Gram matrix of columns of a Kronecker product is the entrywise product of two small ones.
    grams = [(side.T @ side).toarray() for side in (sketcher.left, sketcher.right)]
    adjoint = np.asarray(sketcher.left.T @ values @ sketcher.right)
    try:
        factor = cho_factor(grams[0][np.ix_(rows, rows)] * grams[1][np.ix_(columns, columns)])
    except LinAlgError:  # more than one matrix with this support has this sketch
        return LeastNorm(iterate.feasible, rounds, np.inf, np.inf)
    found, correction = (np.zeros(sketcher.shape) for _ in range(2))
    found[rows, columns] = cho_solve(factor, adjoint[rows, columns])
    residual = float(np.abs(sketcher.apply(found) - values).max())
    if residual > _FEASIBLE * float(np.abs(values).max()):
        return LeastNorm(found, rounds, residual, np.inf)
    dual = -iterate.multiplier / iterate.threshold  # a subgradient of the l1 norm, in the end
    correction[rows, columns] = cho_solve(factor, (np.sign(found) - dual)[rows, columns])
    dual += grams[0] @ correction @ grams[1]
    return LeastNorm(found, rounds, residual, _gap(found, dual))


@dataclass(frozen=True, eq=False)
class _Row:
    """A matrix U S V^T: `space` is V, orthonormal columns that span its rows."""

    outer: Array
    sizes: Array
    space: Array

    @classmethod
    def of(cls, matrix: Array) -> _Row:
        outer, sizes, space = np.linalg.svd(matrix, full_matrices=False)
        kept = sizes > _RANK_TOLERANCE * sizes[0]
        return cls(outer[:, kept], sizes[kept], space[kept].T)

    def shrink(self, values: Array) -> Array:
        """S^-1 U^T times the values."""
        return np.asarray((self.outer.T @ values) / self.sizes[:, None])
