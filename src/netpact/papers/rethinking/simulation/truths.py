"""Networks with known weights, and the least squares estimate of them from a batch of samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from netpact.papers.rethinking.simulation.families import Family, Plain
from netpact.papers.rethinking.simulation.fitting import Fit, Samples, fit_factors
from netpact.papers.rethinking.simulation.geometry import Geometry

Array = NDArray[np.float64]
_RIDGE = 1e-3  # of the mean square: enough to solve for all weights from few samples, as a start
_LOWER = 1e-6  # a squared error is lower if it is so by this share
_STEPS, _TOLERANCE = 60, 1e-8  # "if the target function drops by less than 10^-8" (4.1)


@dataclass(frozen=True)
class Truth:
    """parameters: (1, size) of the family, output: (1, P, R). Collapsed to R kernels, as Corollary 1 has it."""

    geometry: Geometry
    family: Family
    parameters: Array
    output: Array

    @cached_property
    def weights(self) -> Array:
        """W*: (1, L, P)."""
        found: Array = self.family.build(self.parameters) @ self.output.transpose(0, 2, 1)
        return found

    @cached_property
    def placed(self) -> Array:
        """U_G W* in coordinates."""
        return self.geometry.place(self.weights)[0]

    def errors(self, fit: Fit) -> tuple[Array, Array]:
        """|W^ - W*|_F and |U_G (W^ - W*)| of each problem."""
        off = fit.weights - self.weights
        return np.linalg.norm(off, axis=(1, 2)), np.linalg.norm(self.geometry.place(off), axis=1)


def draw_truth(
    geometry: Geometry, family: Family, rng: np.random.Generator, *, kernels: int | None = None, unit: bool = False
) -> Truth:
    """Kernels as the family draws them, output weights of standard normal entries (section 4.1).

    kernels  K of a compressed network: K output weights, multiplied by an orthonormal factor of K rows and R columns
    unit     scaled to |W*|_F = 1 (A.5.1)
    """
    parameters = family.draw(rng, 1)
    if kernels is None:
        output = rng.standard_normal((1, geometry.places, family.kernels))
    else:
        heads = rng.standard_normal((1, geometry.places, kernels))
        output = heads @ np.linalg.qr(rng.standard_normal((kernels, family.kernels)))[0]
    truth = Truth(geometry, family, parameters, output)
    size = float(np.linalg.norm(truth.weights)) if unit else 1.0
    return Truth(geometry, family, parameters, output / size)


def estimate_weights(truth: Truth, samples: Samples, rng: np.random.Generator, *, starts: int) -> tuple[Fit, Array]:
    """The lowest squared error from several starts, and where the start at the truth alone has found it.

    The estimate of (6) is the global minimum, which no start finds for sure. The truth is among the starts: what it
    leads to is an upper bound on the minimum. starts: random ones; plain networks have one from ridge regression, too.
    """
    batch, geometry, family = len(samples.targets), truth.geometry, truth.family
    known = np.repeat(truth.parameters, batch, axis=0), np.repeat(truth.output, batch, axis=0)
    fits = [fit_factors(samples, family, *known, steps=_STEPS, tolerance=_TOLERANCE)]
    begun = [
        (family.draw(rng, batch), rng.standard_normal((batch, geometry.places, family.kernels))) for _ in range(starts)
    ]
    if isinstance(family, Plain):
        begun.insert(0, _from_ridge(samples, family))
    fits += [fit_factors(samples, family, *start, steps=_STEPS, tolerance=_TOLERANCE) for start in begun]
    losses = np.stack([fit.loss for fit in fits])
    best = losses.argmin(axis=0)
    missed = (losses[1:] > losses[0] * (1 + _LOWER)).all(axis=0) if begun else np.ones(batch, dtype=bool)
    rows = np.arange(batch)
    kernels, output = (np.stack([getattr(fit, name) for fit in fits])[best, rows] for name in ("kernels", "output"))
    return Fit(kernels, output, losses[best, rows], max(fit.steps for fit in fits)), missed


def _from_ridge(samples: Samples, family: Plain) -> tuple[Array, Array]:
    """The nearest sum of K kernels to what ridge regression finds for U_G W."""
    located, geometry = samples.located, samples.geometry
    across = located.transpose(0, 2, 1)
    gram = across @ located
    diagonal = np.einsum("zii->zi", gram)  # a view
    diagonal += _RIDGE * diagonal.mean(axis=1, keepdims=True)
    placed = np.linalg.solve(gram, across @ samples.targets[..., None])[..., 0]
    left, values, right = np.linalg.svd(geometry.unplace(placed), full_matrices=False)
    roots = np.sqrt(values[:, None, : family.kernels])
    kernels = left[:, :, : family.kernels] * roots
    return kernels.reshape(len(kernels), -1), right.transpose(0, 2, 1)[:, :, : family.kernels] * roots
