"""CP decomposition by alternating least squares: one factor at a time is solved for, the others stay fixed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netpact.algebra.cp import CPDecomposition, sorted_components
from netpact.algebra.mttkrp import Update, sweep_modes
from netpact.algebra.tensors import best_split, leading_vectors, prepare_tensor, residual_norm, unfold
from netpact.core.checks import check_flag, check_instance, check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.core.seed import Seed

_CANCELLED = 1e4  # times the precision: below this share of |T|^2 a difference of inner products has too few digits
_EXACT = 10.0  # times the precision: a relative error that is nothing but rounding
_STRONGER = 100.0


@dataclass(frozen=True)
class ALSOptions:
    """How long, and from where.

    sweeps             at most, for each start
    tolerance          a start ends when a sweep lowers the relative error by less than this share of it
    starts             the first from singular vectors, the others random; the one with the lowest error is kept
    orthogonal_sweeps  first sweeps in which each factor is orthogonalised (QR) before the others are solved for, which
                       keeps components from collapsing into one (Sharan and Valiant 2017, Li and Huang 2018); modes
                       shorter than the rank stay as they are
    """

    sweeps: int = 200
    tolerance: float = 1e-5
    starts: int = 3
    orthogonal_sweeps: int = 0

    def __post_init__(self) -> None:
        check_integer(self.sweeps, where="sweeps", least=1)
        check_number(self.tolerance, where="tolerance", least=0, below=1)
        check_integer(self.starts, where="starts", least=1)
        check_integer(self.orthogonal_sweeps, where="orthogonal_sweeps", least=0, most=self.sweeps - 1)


_DEFAULT = ALSOptions()
_SEED = Seed(0)


def cp_decompose(
    tensor: Tensor | NDArray[np.floating],
    rank: int,
    *,
    merge_spatial: bool = False,
    options: ALSOptions = _DEFAULT,
    seed: Seed = _SEED,
    progress: Progress | None = None,
) -> CPDecomposition:
    """The sum of `rank` rank-one tensors that alternating least squares finds nearest to the tensor.

    merge_spatial takes a convolution's kernel as (out, in, kx*ky), the form of Li et al. 2020, Proposition 4.1:
    M = sum_r weights_r b_r (x) a_r (x) C_r. progress gets (sweeps done, sweeps at most).
    """
    check_integer(rank, where="rank", least=1)
    check_instance(options, ALSOptions, where="options")
    check_instance(seed, Seed, where="seed")
    values, exponent = prepare_tensor(tensor, least_order=3 if check_flag(merge_spatial, where="merge_spatial") else 2)
    shape = tuple(values.shape)
    # As many components as entries are always enough; far more would only fill the memory.
    check_integer(rank, where="rank", least=1, most=max(1, values.numel()))
    run = _Run(values.flatten(2) if merge_spatial else values, rank, options)
    best = _Fit(values.new_zeros(0), [values.new_zeros(size, 0) for size in run.tensor.shape], (0.0,), 0, True)
    if run.norm:
        for start in range(options.starts):
            factors = run.random_factors(seed.child("cp", start))
            fit = run.iterate(run.singular_factors(factors) if start == 0 else factors, start, progress)
            best = fit if start == 0 or fit.errors[-1] < best.errors[-1] else best
            if best.errors[-1] <= run.floor:
                break
    if progress is not None:
        progress(options.starts * options.sweeps, options.starts * options.sweeps)
    # A component that is lost in the rounding of the largest one is no component: which of them are exactly 0 differs
    # from machine to machine.
    kept = torch.where(best.weights > run.precision * best.weights.max(), best.weights, 0) if run.norm else best.weights
    weights, found = sorted_components(kept, best.factors, exponent=exponent)
    error = run.exact_error(kept, best.factors)
    return CPDecomposition(weights, found, shape, error, best.errors, best.sweeps, best.converged)


@dataclass(frozen=True)
class _Fit:
    weights: Tensor
    factors: Sequence[Tensor]
    errors: tuple[float, ...]
    sweeps: int
    converged: bool


class _Run:
    def __init__(self, tensor: Tensor, rank: int, options: ALSOptions) -> None:
        self.tensor, self.rank, self.options = tensor, rank, options
        self.norm = float(torch.linalg.vector_norm(tensor, dtype=torch.float64))
        self.precision = torch.finfo(tensor.dtype).eps
        self.floor = _EXACT * self.precision

    def random_factors(self, seed: Seed) -> list[Tensor]:
        random = seed.numpy()
        shapes = ((size, self.rank) for size in self.tensor.shape)
        return [unit_columns(torch.from_numpy(random.standard_normal(shape)).to(self.tensor))[0] for shape in shapes]

    def singular_factors(self, random: Sequence[Tensor]) -> list[Tensor]:
        """Leading left singular vectors of each unfolding; random columns where there are too few."""
        found = [leading_vectors(unfold(self.tensor, mode), self.rank) for mode in range(self.tensor.dim())]
        return [torch.cat([one, other[:, one.shape[1] :]], dim=1) for one, other in zip(found, random, strict=True)]

    def iterate(self, factors: list[Tensor], start: int, progress: Progress | None) -> _Fit:
        options, errors = self.options, list[float]()
        update = LeastSquares(factors, self.precision)
        for sweep in range(options.sweeps):
            update.orthogonal = sweep < options.orthogonal_sweeps
            sweep_modes(self.tensor, factors, update)
            if progress is not None:
                progress(start * options.sweeps + sweep + 1, options.starts * options.sweeps)
            if update.orthogonal:
                continue  # the factors are directions, not yet a fit
            errors.append(self.error(update))
            fell = errors[-2] - errors[-1] if len(errors) > 1 else math.inf
            if errors[-1] <= self.floor or fell <= options.tolerance * errors[-1]:
                return _Fit(update.weights, factors, tuple(errors), sweep + 1, True)
        return _Fit(update.weights, factors, tuple(errors), options.sweeps, False)

    def error(self, update: LeastSquares) -> float:
        """|T - X|^2 = |T|^2 - 2 <T, X> + |X|^2 without X: <T, X> is known from the last mode that was solved for."""
        weights = update.weights.double()
        squares = self.norm**2 - 2 * update.inner + float(weights @ update.gram().double() @ weights)
        if squares <= _CANCELLED * self.precision * self.norm**2:
            return self.exact_error(update.weights, update.factors)
        return math.sqrt(squares) / self.norm

    def exact_error(self, weights: Tensor, factors: Sequence[Tensor]) -> float:
        cut = best_split(self.tensor.shape)
        matrix = self.tensor.flatten(cut).flatten(0, cut - 1)
        return residual_norm(matrix, factors[:cut], factors[cut:], weights) / self.norm if self.norm else 0.0


class LeastSquares(Update):
    """Solves for one factor: F V = M, where M is the tensor times the other factors, V their Gram matrices' product.

    V may be singular. A small multiple of |F - last F|^2 is added to what is minimised, so that V + ridge I has a
    Cholesky factor and the error still cannot rise.
    """

    def __init__(self, factors: list[Tensor], precision: float) -> None:
        self.factors, self.precision = factors, precision
        self.weights = factors[0].new_zeros(factors[0].shape[1])
        self.grams = [factor.T @ factor for factor in factors]
        self.inner, self.orthogonal = 0.0, False

    def gram(self, without: int | None = None) -> Tensor:
        kept = [gram for mode, gram in enumerate(self.grams) if mode != without]
        product = kept[0].clone()
        for gram in kept[1:]:
            product *= gram
        return product

    def __call__(self, mode: int, product: Tensor) -> None:
        gram = self.gram(without=mode)
        last = self.factors[mode] * self.weights
        ridge = self.precision * len(gram)
        for _ in range(8):
            lower, failed = torch.linalg.cholesky_ex(gram + ridge * torch.eye(len(gram), dtype=gram.dtype))
            if not failed:
                break
            ridge *= _STRONGER
        else:
            raise PactError("the least-squares problem has no solution", where="tensor", hint="try a lower rank")
        solved = torch.cholesky_solve((product + ridge * last).T, lower).T
        self.inner = float((product * solved).sum(dtype=torch.float64))
        factor, self.weights = unit_columns(solved)
        if self.orthogonal and factor.shape[0] >= factor.shape[1]:
            factor = torch.linalg.qr(factor).Q
        self.factors[mode], self.grams[mode] = factor, factor.T @ factor


def unit_columns(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The matrix with columns of norm 1, and what their norms were; a column of zeros becomes the first unit vector."""
    norms = torch.linalg.vector_norm(matrix, dim=0)
    unit = matrix / torch.where(norms > 0, norms, 1)
    unit[0, norms == 0] = 1
    return unit, norms
