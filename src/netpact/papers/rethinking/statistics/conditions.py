"""What the theorems assume about inputs, noise and positions, and the constants that they leave open."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from netpact.core.checks import check_instance, check_number
from netpact.core.errors import PactError, wrong_kind
from netpact.papers.rethinking.statistics.positions import Isometry

_SYMMETRY = 1e-10  # relative: rounding of a covariance that somebody computed


@dataclass(frozen=True)
class InputCovariance:
    """c_x and C_x of Assumption 1: c_x I <= Sigma <= C_x I, Sigma the covariance of all inputs together."""

    least: float
    largest: float
    source: str = "given"

    def __post_init__(self) -> None:
        check_number(self.least, where="inputs, least", above=0)
        check_number(self.largest, where="inputs, largest", least=self.least)

    @staticmethod
    def independent(std: float = 1.0) -> InputCovariance:
        """Independent samples of independent entries."""
        check_number(std, where="std", above=0)
        return InputCovariance(std**2, std**2, f"independent entries of standard deviation {std:g}")

    @staticmethod
    def from_covariance(covariance: ArrayLike) -> InputCovariance:
        """Independent samples with this covariance matrix: its extreme eigenvalues."""
        matrix = _square(covariance, where="covariance")
        if np.abs(matrix - matrix.T).max() > _SYMMETRY * np.abs(matrix).max():
            raise PactError("a covariance is symmetric, this matrix is not", where="covariance")
        values = np.linalg.eigvalsh(matrix)
        if values[0] <= 0:
            raise PactError(f"must be positive definite, its least eigenvalue is {values[0]:.3g}", where="covariance")
        return InputCovariance(float(values[0]), float(values[-1]), "extreme eigenvalues of the covariance")

    @staticmethod
    def from_var(transition: ArrayLike, *, noise_std: float = 1.0) -> InputCovariance:
        """A stationary VAR(1) process x_t = A x_(t-1) + noise: bounds on the eigenvalues of Sigma by the norm of A.

            c_x = noise_std^2 / (1 + |A|)^2,   C_x = noise_std^2 / (1 - |A|)^2

        These bound 2 pi times the spectral density on all frequencies (Basu and Michailidis 2015, Proposition 2.3);
        the paper leaves out the factor 2 pi.
        """
        matrix = _square(transition, where="transition")
        check_number(noise_std, where="noise_std", above=0)
        norm = float(np.linalg.norm(matrix, 2))
        if norm >= 1:
            raise PactError(
                f"the spectral norm must be below 1, got {norm:.6g}",
                where="transition",
                hint="a stationary process can have a larger one; give c_x and C_x as InputCovariance(least, largest)",
            )
        variance = noise_std**2
        return InputCovariance(variance / (1 + norm) ** 2, variance / (1 - norm) ** 2, f"VAR(1), |A| = {norm:.4g}")

    def __str__(self) -> str:
        return f"c_x = {self.least:.4g}, C_x = {self.largest:.4g} ({self.source})"


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """All that an error bound needs beyond d_M and the number of samples.

    isometry   c_u and C_u, for example `CompositeCNN.isometry`; c_u = 0 is refused
    inputs     c_x and C_x
    noise_std  sigma of the sub-Gaussian noise (Assumption 2), for regression
    curvature  kappa_1, for classification: a lower bound on the curvature of the loss around W*. No kappa_0 as
               Assumption 4 (C2) asks for exists, so the paper gives no way to compute it
    slack      the delta of the paper: larger values make the statement weaker and more probable
    c_h        universal constant of the Hanson-Wright inequality in Theorems 1 and 2
    c, c_gamma universal constants of Theorem 3 and Corollaries 2 to 4

    The universal constants enter the probability alone. Where one is None, no probability is stated.
    """

    isometry: Isometry
    inputs: InputCovariance
    noise_std: float | None = None
    curvature: float | None = None
    slack: float = 1.0
    c_h: float | None = None
    c: float | None = None
    c_gamma: float | None = None

    def __post_init__(self) -> None:
        check_instance(self.isometry, Isometry, where="isometry")
        check_instance(self.inputs, InputCovariance, where="inputs")
        check_number(self.slack, where="slack", above=0)
        for name in ("noise_std", "curvature", "c_h", "c", "c_gamma"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), where=name, above=0)
        if not self.isometry.least:
            raise PactError(
                "c_u = 0: positioning factors without full column rank violate Assumption 3, and there is no bound",
                where="isometry",
                hint="a kernel that is longer than stride x pooling stride repeats columns; W itself is then not "
                "determined by the data, only predictions are",
            )

    @property
    def lower(self) -> float:
        """kappa_L = c_x c_u"""
        return self.inputs.least * self.isometry.least

    @property
    def upper(self) -> float:
        """kappa_U = C_x C_u"""
        return self.inputs.largest * self.isometry.largest

    @property
    def strong_convexity(self) -> float:
        """alpha_RSC = kappa_L / 2"""
        return self.lower / 2

    @property
    def smoothness(self) -> float:
        """alpha_RSM = 3 kappa_U / 2"""
        return 1.5 * self.upper

    def to_json(self) -> dict[str, object]:
        return {
            "c_u": self.isometry.least,
            "C_u": self.isometry.largest,
            "c_x": self.inputs.least,
            "C_x": self.inputs.largest,
            "inputs": self.inputs.source,
            "kappa_L": self.lower,
            "kappa_U": self.upper,
            "noise_std": self.noise_std,
            "kappa_1": self.curvature,
            "slack": self.slack,
            "c_h": self.c_h,
            "c": self.c,
            "c_gamma": self.c_gamma,
        }


def _square(value: ArrayLike, *, where: str) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    try:
        matrix = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise wrong_kind(value, needed="a square matrix of numbers", where=where) from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise PactError(f"must be a square matrix, got the sizes {matrix.shape}", where=where)
    if not math.isfinite(float(np.abs(matrix).sum())):
        raise PactError("some numbers are not finite", where=where)
    return matrix
