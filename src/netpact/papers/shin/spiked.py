"""Equations (9) to (11): what the kept entries B of a power-law matrix do to a vector, as printed and corrected."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from netpact.core.checks import check_number
from netpact.core.errors import PactError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """E[B] and E[B^2] of one entry of B, zeros included."""

    mean: float
    second: float

    @property
    def variance(self) -> float:
        return self.second - self.mean**2

    def squared_product(self, x: Array) -> float:
        """E[(Bx)_i^2] for independent entries, corrected:

            Var(B) |x|^2 + E[B]^2 (sum_j x_j)^2

        The cross terms of (9) are E[B]^2 x_j x_j', and B is positive there: they do not vanish.
        """
        return self.variance * float(x @ x) + self.mean**2 * float(x.sum()) ** 2

    def printed_product(self, x: Array) -> float:
        """The mean over i of (10):  N_2 E[B^2] x_i^2, which is E[B^2] |x|^2."""
        return self.second * float(x @ x)


def pareto_moments(alpha: float, *, lowest: float = 1.0, tau: float) -> Moments:
    """Of an entry w >= lowest with density alpha lowest^alpha w^-(alpha+1), kept above tau and 0 otherwise:

        E[B]   = alpha lowest^alpha tau^(1-alpha) / (alpha - 1),   for alpha > 1
        E[B^2] = alpha lowest^alpha tau^(2-alpha) / (alpha - 2),   for alpha > 2

    (10) prints the second without saying that it is infinite up to alpha = 2, where stable distributions are.
    """
    check_threshold(alpha, lowest=lowest, tau=tau)
    if alpha <= 2:
        raise PactError(f"E[B^2] is infinite up to alpha = 2, got {alpha}", where="alpha")
    scale = alpha * lowest**alpha
    return Moments(scale * tau ** (1 - alpha) / (alpha - 1), scale * tau ** (2 - alpha) / (alpha - 2))


def check_threshold(alpha: float, *, lowest: float, tau: float) -> None:
    check_number(alpha, where="alpha", above=0)
    check_number(lowest, where="lowest", above=0)
    check_number(tau, where="tau", least=lowest)


def draw_pareto(random: np.random.Generator, shape: tuple[int, ...], *, alpha: float, lowest: float = 1.0) -> Array:
    """Density alpha lowest^alpha w^-(alpha+1) on w >= lowest."""
    return np.asarray(lowest * (1.0 - random.random(shape)) ** (-1.0 / alpha))


@dataclass(frozen=True)
class Spikes:
    """Of B x, over many rows: the measured mean of its squares beside both formulas."""

    label: str
    measured: float
    corrected: float
    printed: float

    @property
    def off_corrected(self) -> float:
        return self.measured / self.corrected

    @property
    def off_printed(self) -> float:
        return self.measured / self.printed

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def simulate_spikes(
    random: np.random.Generator, *, label: str, alpha: float, tau: float, x: Array, rows: int = 200_000
) -> Spikes:
    """Rows of a power-law matrix, drawn in blocks."""
    total, block = 0.0, max(1, (1 << 20) // x.size)
    for start in range(0, rows, block):
        drawn = draw_pareto(random, (min(block, rows - start), x.size), alpha=alpha)
        total += float(np.square(np.where(drawn > tau, drawn, 0.0) @ x).sum())
    moments = pareto_moments(alpha, tau=tau)
    return Spikes(label, total / rows, moments.squared_product(x), moments.printed_product(x))


def measure_spikes(label: str, kept: Array, inputs: Array) -> Spikes:
    """Of a given matrix, 0 where an entry is not kept, on given inputs; the moments are those of its entries."""
    moments = Moments(float(kept.mean()), float(np.square(kept).mean()))
    return Spikes(
        label,
        float(np.square(inputs @ kept.T).mean()),
        math.fsum(moments.squared_product(x) for x in inputs) / len(inputs),
        math.fsum(moments.printed_product(x) for x in inputs) / len(inputs),
    )


def stretch_spread(matrix: Array, vectors: Array) -> float:
    """How unevenly a matrix stretches vectors: std over mean of |W x| / |x|. Near 0 for a Johnson-Lindenstrauss map."""
    lengths = np.linalg.norm(vectors, axis=1)
    used = lengths > 0
    ratios = np.linalg.norm(vectors[used] @ matrix.T, axis=1) / lengths[used]
    return float(ratios.std() / ratios.mean()) if ratios.size and ratios.mean() > 0 else math.nan
