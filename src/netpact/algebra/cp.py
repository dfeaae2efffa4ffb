"""The CP decomposition of a tensor: a sum of rank-one tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from netpact.algebra.tensors import khatri_rao
from netpact.core.display import Displayed, Row
from netpact.core.errors import PactError

_OPPOSITE = -0.85  # near -1, the cosine between components is the sign of degeneracy (Harshman and Lundy 1984)
_CANCELLED = 10.0  # more than two components may cancel each other with no two of them opposite


@dataclass(frozen=True, eq=False, repr=False)
class CPDecomposition(Displayed):
    """T ~ sum_r weights_r v_1r (x) ... (x) v_Nr, with unit columns v_nr of factors[n], weights positive and descending.

    shape           of the tensor; its last modes are one factor where they were merged
    relative_error  |T - to_dense()| / |T| in the Frobenius norm (0 for T = 0)
    errors          the relative error after each sweep of the start that was kept, never rising but for rounding
    sweeps          of that start, those with orthogonalised factors included
    converged       whether the error stopped falling (or reached 0) before the sweeps ran out
    """

    weights: Tensor
    factors: tuple[Tensor, ...]
    shape: tuple[int, ...]
    relative_error: float
    errors: tuple[float, ...] = ()
    sweeps: int = 0
    converged: bool = True

    def display_facts(self) -> Row:
        return {
            "rank": self.rank,
            "relative_error": self.relative_error,
            "shape": str(tuple(self.shape)),
            "parameters": self.parameters,
            "sweeps": self.sweeps,
            "converged": self.converged,
        }

    @property
    def rank(self) -> int:
        """The number of components; those of weight 0 are dropped, so it may be less than what was asked for."""
        return len(self.weights)

    @property
    def parameters(self) -> int:
        """rank (d_1 + ... + d_N + 1)"""
        return self.rank * (sum(len(factor) for factor in self.factors) + 1)

    @property
    def kernels(self) -> Tensor:
        """C_r of Li et al. 2020, one kernel of unit Frobenius norm for each component of a merged convolution."""
        if len(self.factors) != 3:
            raise PactError(
                f"needs 3 factors, has {len(self.factors)}", where="kernels", hint="decompose with merge_spatial=True"
            )
        return self.factors[2].T.reshape(self.rank, *self.shape[2:])

    @property
    def collinearity(self) -> float:
        """The largest |cosine| of the angle between two components."""
        return float((self._cosines - torch.eye(self.rank, dtype=torch.float64)).abs().max()) if self.rank > 1 else 0.0

    @property
    def cancellation(self) -> float:
        """sqrt(sum_r weights_r^2) / |to_dense()|: 1 for orthogonal components, more where they cancel each other."""
        weights = self.weights.double()
        norm = math.sqrt(max(0.0, float(weights @ self._cosines @ weights)))
        return float(weights.norm()) / norm if norm else math.inf if self.rank else 1.0

    @property
    def degenerate(self) -> bool:
        """Whether components cancel each other: two are nearly opposite, or the cancellation is large.

        There may be no best approximation of this rank then, and more sweeps only make the weights larger (de Silva and
        Lim 2008). Ask for another rank.
        """
        return self.rank > 1 and (float(self._cosines.min()) <= _OPPOSITE or self.cancellation >= _CANCELLED)

    @cached_property
    def _cosines(self) -> Tensor:
        product = torch.ones(self.rank, self.rank, dtype=torch.float64)
        for factor in self.factors:
            product *= factor.double().T @ factor.double()
        return product

    def to_dense(self) -> Tensor:
        return ((self.factors[0] * self.weights) @ khatri_rao(self.factors[1:]).T).reshape(self.shape)

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        notes = ("", ", not converged")[not self.converged] + ("", ", degenerate")[self.degenerate]
        error = f"relative error {self.relative_error:.3g}"
        return f"CPDecomposition({shape}, rank {self.rank}, {error}, {self.sweeps} sweeps{notes})"


def sorted_components(
    weights: Tensor, factors: Sequence[Tensor], *, exponent: int = 0
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """By descending weight, without those of weight 0; the weights, none negative, times 2^exponent."""
    order = torch.argsort(weights, descending=True, stable=True)
    order = order[weights[order] > 0]
    scaled = torch.ldexp(weights[order].double(), torch.tensor(exponent)).to(weights.dtype)
    return scaled, tuple(factor[:, order].contiguous() for factor in factors)
