"""The Tucker decomposition: a small core tensor, and for each mode a matrix with orthonormal columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netpact.algebra.tensors import leading_vectors, prepare_tensor, unfold
from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.progress import Progress


@dataclass(frozen=True, eq=False)
class TuckerDecomposition:
    """T ~ core x_1 factors[0] x_2 factors[1] ...: the mode n of the core is multiplied by factors[n].

    relative_error  |T - to_dense()| / |T| in the Frobenius norm (0 for T = 0)
    errors          the same after the start and after each sweep, never rising but for rounding
    """

    core: Tensor
    factors: tuple[Tensor, ...]
    relative_error: float
    errors: tuple[float, ...]
    converged: bool

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(self.core.shape)

    @property
    def sweeps(self) -> int:
        return len(self.errors) - 1

    @property
    def parameters(self) -> int:
        return self.core.numel() + sum(factor.numel() for factor in self.factors)

    def to_dense(self) -> Tensor:
        return _multiply(self.core, [factor.T for factor in self.factors])


def tucker_decompose(
    tensor: Tensor | NDArray[np.floating],
    ranks: Sequence[int],
    *,
    sweeps: int = 50,
    tolerance: float = 1e-6,
    progress: Progress | None = None,
) -> TuckerDecomposition:
    """Higher-order orthogonal iteration (De Lathauwer et al. 2000), from the singular vectors of each unfolding.

    A sweep takes for each mode the leading singular vectors of the tensor projected to the other factors. It ends when
    a sweep lowers the relative error by less than the share `tolerance`. sweeps=0 is the truncated HOSVD.
    """
    values, exponent = prepare_tensor(tensor)
    ranks = _check_ranks(ranks, tuple(values.shape))
    check_integer(sweeps, where="sweeps", least=0)
    check_number(tolerance, where="tolerance", least=0, below=1)
    norm = float(values.norm(dtype=torch.float64))
    factors = [leading_vectors(unfold(values, mode), rank) for mode, rank in enumerate(ranks)]
    errors, converged = [_relative_error(_multiply(values, factors), norm)], False
    for sweep in range(sweeps):
        for mode, rank in enumerate(ranks):
            factors[mode] = leading_vectors(unfold(_multiply(values, factors, without=mode), mode), rank)
        errors.append(_relative_error(_multiply(values, factors), norm))
        if progress is not None:
            progress(sweep + 1, sweeps)
        if converged := errors[-2] - errors[-1] <= tolerance * errors[-1]:
            break
    core = _multiply(values, factors)
    rest = values - _multiply(core, [factor.T for factor in factors])
    error = float(rest.norm(dtype=torch.float64)) / norm if norm else 0.0
    core = torch.ldexp(core.double(), torch.tensor(exponent)).to(core.dtype)
    return TuckerDecomposition(core, tuple(factors), error, tuple(errors), converged)


def _multiply(tensor: Tensor, factors: Sequence[Tensor], *, without: int | None = None) -> Tensor:
    """Each mode times the transpose of its factor; first the modes that become shorter by most."""
    for mode in sorted(range(tensor.dim()), key=lambda mode: factors[mode].shape[1] / factors[mode].shape[0]):
        if mode != without:
            tensor = torch.tensordot(tensor, factors[mode], dims=([mode], [0])).movedim(-1, mode)
    return tensor


def _relative_error(core: Tensor, norm: float) -> float:
    """|T - X|^2 = |T|^2 - |core|^2, as the factors are orthonormal."""
    share = float(core.norm(dtype=torch.float64)) / norm if norm else 1.0
    return math.sqrt(max(0.0, (1 - share) * (1 + share)))


def _check_ranks(ranks: Sequence[int], shape: tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(ranks, str) or not isinstance(ranks, Sequence) or len(ranks) != len(shape):
        raise PactError(f"must be {len(shape)} integers, one for each mode, got {ranks!r}", where="ranks")
    checked = tuple(
        check_integer(rank, where=f"ranks[{mode}]", least=1, most=size)
        for mode, (rank, size) in enumerate(zip(ranks, shape, strict=True))
    )
    for mode, rank in enumerate(checked):
        others = math.prod(checked) // rank
        if rank > others:
            what = f"must be at most the product of the other ranks, {others}, got {rank}"
            raise PactError(what, where=f"ranks[{mode}]")
    return checked
