"""What layers in CP form have in common: a sum of rank-one tensors whose factors are weights of ordinary layers."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TypeVar

import torch
from torch import Tensor, nn

from netpact.algebra import ALSOptions, CPDecomposition, cp_decompose
from netpact.algebra.cp import sorted_components
from netpact.algebra.cp_als import unit_columns
from netpact.algebra.outward import norm_up, round_up_float
from netpact.algebra.tensors import khatri_rao
from netpact.core.checks import check_integer
from netpact.core.errors import PactError
from netpact.core.progress import Progress
from netpact.core.seed import Seed
from netpact.layers.factored import Chain

Self = TypeVar("Self", bound="CPChain")
_SMALL = 2**16  # weights


class CPChain(Chain):
    """The weight is a tensor sum_r lambda_r v_1r (x) ... (x) v_Nr, arranged as a matrix or kernel, and never built.

    lambda_r is no parameter of its own but the product of the norms of its factors.
    """

    @property
    @abstractmethod
    def rank(self) -> int: ...

    @property
    @abstractmethod
    def modes(self) -> tuple[int, ...]:
        """The sizes of the tensor."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The same, with modes that are one factor told apart."""
        return self.modes

    @abstractmethod
    def _parts(self) -> tuple[nn.Conv2d, ...]:
        """The layers whose weights are the factors, one for each mode."""

    @abstractmethod
    def _last(self) -> nn.Conv2d:
        """The one of them that sums over the components."""

    @abstractmethod
    def tensor_of(self, weight: Tensor) -> Tensor:
        """The dense weight as the tensor that is decomposed."""

    @abstractmethod
    def weight_of(self, tensor: Tensor) -> Tensor:
        """The tensor as the dense weight."""

    @abstractmethod
    def _of_rank(self: Self, rank: int) -> Self:
        """A layer with these settings and this bias; its factors are not set."""

    @abstractmethod
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw all parameters anew; weight and bias as a whole get the variances that torch gives to dense ones."""

    def factors(self) -> list[Tensor]:
        """(d_n, R) for each mode, from the parameters themselves: gradients flow back to them."""
        last = self._last()
        return [self._summed(part) if part is last else part.weight.reshape(self.rank, -1).T for part in self._parts()]

    def _summed(self, part: nn.Conv2d) -> Tensor:
        return part.weight.reshape(len(part.weight), self.rank, -1).transpose(1, 2).flatten(0, 1)

    @torch.no_grad()
    def set_factors(self, factors: list[Tensor]) -> None:
        last = self._last()
        for part, factor in zip(self._parts(), factors, strict=True):
            if part is last:
                factor = factor.reshape(len(part.weight), -1, self.rank).transpose(1, 2)
            else:
                factor = factor.T
            part.weight.copy_(factor.reshape(part.weight.shape))

    def composed(self) -> Tensor:
        """The dense weight in the layer's precision, with gradients to the factors."""
        return self._compose(self.factors())

    @torch.no_grad()
    def exact_weight(self) -> Tensor:
        """The dense weight, composed in float64."""
        return self._compose([factor.double() for factor in self.factors()])

    def _compose(self, factors: list[Tensor]) -> Tensor:
        return self.weight_of((factors[0] @ khatri_rao(factors[1:]).T).reshape(self.modes))

    def default_options(self) -> ALSOptions:
        """Several long starts for a small tensor. Of a large one they take minutes and lower the error by little."""
        return ALSOptions() if math.prod(self.modes) <= _SMALL else ALSOptions(sweeps=60, starts=1)

    @torch.no_grad()
    def fit(
        self, weight: Tensor, *, options: ALSOptions | None, seed: Seed, progress: Progress | None = None
    ) -> CPDecomposition:
        """Set the factors to those nearest to a dense weight that alternating least squares finds; gives its report."""
        tensor, options = self.tensor_of(weight.detach()), options or self.default_options()
        found = cp_decompose(tensor, self.rank, options=options, seed=seed, progress=progress)
        self.set_components(found)
        return found

    def set_components(self, found: CPDecomposition) -> None:
        """The factors of the tensor, each with an equal share of the weights; columns of zeros up to the rank."""
        if found.rank > self.rank:
            raise PactError(f"the layer has rank {self.rank}, the decomposition {found.rank}", where="components")
        sizes = tuple(len(factor) for factor in found.factors)
        if sizes != self.modes:
            raise PactError(
                f"the layer has factors of {self.modes} rows, the decomposition {sizes}", where="components"
            )
        roots = found.weights.double() ** (1 / len(sizes))
        missing = (0, self.rank - found.rank)
        self.set_factors([nn.functional.pad(factor.double() * roots, missing) for factor in found.factors])

    @torch.no_grad()
    def _unit_factors(self) -> tuple[Tensor, list[Tensor]]:
        """lambda and unit factors in float64, as the components stand in the layer; 0 for those that are 0."""
        units, norms = zip(*map(unit_columns, self._finite_factors()), strict=True)
        return torch.stack(norms).prod(dim=0), list(units)

    def _finite_factors(self) -> list[Tensor]:
        """In float64. NaN is not above 0: its component would be left out as if it were 0."""
        factors = [factor.detach().double() for factor in self.factors()]
        if not all(bool(torch.isfinite(factor).all()) for factor in factors):
            name = type(self).__name__
            raise PactError("its weights hold NaN or infinity", where=name, hint="the training may have diverged")
        return factors

    def components(self) -> CPDecomposition:
        """Unit factors and the positive, descending spectrum of what the layer computes, in float64."""
        weights, factors = sorted_components(*self._unit_factors())
        return CPDecomposition(weights, factors, self.shape, 0.0)

    def spectrum(self) -> Tensor:
        """lambda, largest first; components of weight 0 are left out."""
        return self.components().weights

    @torch.no_grad()
    def norm_bound(self) -> float:
        """At least the operator norm of the layer without its bias: sum_r lambda_r c_r, rounded up.

        Li et al. 2020, Lemmas C.2, C.5 and C.8 without the factor that they lose in the transform: c_r is the norm of
        the convolution with the unit kernel C_r, for every image size, and 1 for a linear layer.
        """
        lengths = torch.stack([norm_up(factor.T) for factor in self._finite_factors()])
        roundings = self.rank + len(lengths)  # of the sum, and of each product
        return round_up_float(float((lengths.prod(dim=0) * self._gains()).sum()) * (1 + roundings * 2.0**-52))

    def _gains(self) -> Tensor:
        """c_r of the components as they stand in the layer."""
        return torch.ones(self.rank, dtype=torch.float64)

    def normalize_(self: Self) -> Self:
        """The same function up to rounding, with components by descending lambda and factors of unit norm.

        lambda goes into the columns of the layer that sums over the components. It is done in place.
        """
        weights, units = self._unit_factors()
        order = torch.argsort(weights, descending=True, stable=True)
        last = self._last()
        scaled = [unit * weights if part is last else unit for part, unit in zip(self._parts(), units, strict=True)]
        self.set_factors([factor[:, order] for factor in scaled])
        return self

    def truncate(self: Self, rank: int) -> Self:
        """A new layer with the components of largest lambda, in descending order; their numbers stay as they are."""
        check_integer(rank, where="rank", least=1, most=self.rank)
        kept = torch.argsort(self._unit_factors()[0], descending=True, stable=True)[:rank]
        made = self._of_rank(rank)
        made.set_factors([factor.detach()[:, kept] for factor in self.factors()])
        return made


def init_uniform(weight: Tensor, variance: float, generator: torch.Generator | None = None) -> None:
    """Drawn on the CPU, wherever the weight is; nothing is drawn for one without memory."""
    if not weight.is_meta:
        bound = math.sqrt(3 * variance)
        weight.copy_(torch.empty(weight.shape, dtype=weight.dtype).uniform_(-bound, bound, generator=generator))
