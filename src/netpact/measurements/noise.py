"""Noise: how sensitive a map is to it, and what projecting a layer's weights adds to them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from netpact.algebra.projection import SignProjector
from netpact.core.checks import check_integer, check_number
from netpact.core.errors import PactError
from netpact.core.seed import Seed
from netpact.measurements.quantity import Quantity

_STEP = 2.0**-28

# A compressed weight of the same shape, drawn with the seed.
NoiseMaker = Callable[[Tensor, Seed], Tensor]


def simulate_noise_sensitivity(map_: Callable[[Tensor], Tensor], x: Tensor, *, draws: int, seed: Seed) -> Quantity:
    """The noise sensitivity of any map at x for Gaussian noise, by drawing it (Arora et al. 2018, Definition 3).

        psi = E |M(x + eta |x|) - M(x)|^2 / |M(x)|^2,   eta ~ N(0, I)

    map_  takes a batch; x is one sample without the batch's axis
    """
    check_integer(draws, where="draws", least=2)  # for a standard error
    noise = torch.randn((draws, *x.shape), generator=seed.torch(), dtype=x.dtype)
    with torch.no_grad():
        clean = map_(x[None])
        moved = map_(x + noise * torch.linalg.vector_norm(x))
    size = float(clean.double().square().sum())
    if size == 0:
        raise PactError("the map gives 0 there: its noise sensitivity is not defined", where="noise sensitivity")
    ratios = (moved - clean).double().flatten(1).square().sum(dim=1) / size
    return Quantity(float(ratios.mean()), exact=False, stderr=float(ratios.std()) / math.sqrt(draws))


@dataclass(frozen=True)
class GaussianProjection:
    """Gaussian noise with the mean and the covariance of Algorithm 1's (Arora et al. 2018) with k sign matrices.

        A^ = (1/k) sum <A, M> M,   M of independent signs
        E A^ = A,   Var A^_a = (|A|_F^2 - A_a^2) / k,   Cov(A^_a, A^_b) = A_a A_b / k

    A^ is a mean of k independent terms, so for large k the two are the same; this one costs nothing.

    share  k as a share of the layer's number of weights: 1 is the least noise at which anything is saved
    """

    share: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.share, where="share", above=0)

    def __call__(self, weight: Tensor, seed: Seed) -> Tensor:
        generator = seed.torch()
        count = count_projections(weight, self.share)
        along = torch.randn((), generator=generator, dtype=torch.float64)
        around = torch.randn(weight.shape, generator=generator, dtype=weight.dtype)
        # |A|_F^2 I - 2 diag(A^2) + A A^T; a single weight above half of the sum would leave a negative variance.
        own = (weight.double().square().sum() - 2 * weight.double().square()).clamp(min=0).sqrt()
        return weight + ((along * weight.double() + own * around) / math.sqrt(count)).to(weight.dtype)


@dataclass(frozen=True)
class SignProjection:
    """Algorithm 1 itself, with k matrices of signs from our own stream. Its cost is k times the number of weights.

        A^ = (1/k) sum <A, M> M

    share  k as a share of the layer's number of weights
    """

    share: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.share, where="share", above=0)

    def __call__(self, weight: Tensor, seed: Seed) -> Tensor:
        count = count_projections(weight, self.share)
        number = int(seed.numpy().integers(1 << 32))
        projector = SignProjector(size=weight.numel(), count=count, seed=number, layer=0)
        products = projector.measure(weight.double().numpy().reshape(1, -1))
        # The projector adds up integers: the step is far below float32's, and the sum far below 2^52.
        step = float(abs(products).max()) * _STEP or 1.0
        summed = projector.combine((products / step).round().astype("int64"))
        return torch.from_numpy(summed * (step / count)).reshape(weight.shape).to(weight.dtype)


def count_projections(weight: Tensor, share: float) -> int:
    """k for this layer."""
    return max(1, round(share * weight.numel()))
