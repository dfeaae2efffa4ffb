"""The symbol of a convolution: its action on plane waves, one small matrix for each frequency.

A convolution of stride s along an axis becomes one of stride 1 on s times as many channels (the pixels of each residue
mod s are a channel of their own). With V_q the tap at q of that kernel, a wave v exp(i f m) becomes P(f) v exp(i f m),

    P(f) = sum_q V_q exp(i f q),    |plane convolution|_op = sup_f |P(f)|_2 = sup_f lambda_max(G(f))^(1/2)
    G(f) = P(f)^H P(f) = sum_t R_t exp(i f t),    R_t = sum_q V_q^T V_{q+t},   -D <= t <= D,  D = taps - 1

The lags R_t are computed once; after that a frequency costs no product of matrices. G is used on the side, input or
output, that has fewer channels. Dilation multiplies frequencies and leaves the supremum as it is; what dilation and
stride have in common cancels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

_UNIT = 2.0**-53
_MOST_ENTRIES = 1 << 18  # matrix entries at a time: a few megabytes, within the caches


def split_phases(kernel: Tensor, strides: Sequence[int]) -> Tensor:
    """A kernel (groups, out, in, taps...) of these strides as one of stride 1: more channels in, fewer taps.

    Zeros are added after the last tap up to a multiple of the stride.
    """
    taps = kernel.shape[3:]
    short = [-count % stride for count, stride in zip(taps, strides, strict=True)]
    kernel = functional.pad(kernel, [entry for missing in reversed(short) for entry in (0, missing)])
    counts = [(count + missing) // stride for count, missing, stride in zip(taps, short, strides, strict=True)]
    pairs = [entry for pair in zip(counts, strides, strict=True) for entry in pair]
    blocks = kernel.reshape(*kernel.shape[:3], *pairs)
    axes = len(counts)
    phases, places = [4 + 2 * a for a in range(axes)], [3 + 2 * a for a in range(axes)]
    return blocks.permute(0, 1, 2, *phases, *places).reshape(*kernel.shape[:2], -1, *counts)


@dataclass(frozen=True, eq=False)
class GramSymbol:
    """G(f) of a kernel by its lags: G(f) = sum_t cos(f t) even_t + i sin(f t) odd_t over half of the lags.

    even, odd  (lags, groups, size, size);  lags  (lags, axes), integers, (0, ..., 0) first
    error      the matrices that `matrices` gives are within this of the true ones, in the operator norm
    flipped    the smaller side was the output: G(f) here is P(-f) P(-f)^H
    """

    even: Tensor
    odd: Tensor
    lags: Tensor
    error: float
    flipped: bool

    @property
    def degrees(self) -> tuple[int, ...]:
        return tuple(int(most) for most in self.lags.abs().amax(dim=0))

    @property
    def groups(self) -> int:
        return self.even.shape[1]

    @property
    def size(self) -> int:
        return self.even.shape[2]

    def matrices(self, points: Tensor, grid: Sequence[int]) -> Iterator[Tensor]:
        """G at the frequencies 2 pi points / grid, in portions (frequencies * groups, size, size), in order.

        Only the lower triangles are meant. Real where the kernel has one tap.
        """
        # At least a few, as their sums over the lags are one product of matrices.
        portion = max(4, _MOST_ENTRIES // (self.groups * self.size**2))
        for some in points.split(portion):
            yield self._at(some, grid).reshape(-1, self.size, self.size)

    def _at(self, points: Tensor, grid: Sequence[int]) -> Tensor:
        if len(self.lags) == 1:
            return self.even.repeat(len(points), 1, 1, 1)
        counts = torch.tensor(grid)
        # Whole turns are taken out in integers, so that angles stay small and their rounding with them.
        turns = ((points[:, None, :] * self.lags).remainder(counts).double() / counts).sum(dim=2)
        shape = (len(points), *self.even.shape[1:])
        real = torch.cos(2 * math.pi * turns) @ self.even.flatten(1)
        imaginary = torch.sin(2 * math.pi * turns) @ self.odd.flatten(1)
        return torch.complex(real, imaginary).reshape(shape)


def make_symbol(kernel: Tensor) -> GramSymbol:
    """The Gram symbol of a float64 kernel (groups, out, in, taps...) of stride 1.

    The bound on its error. R_t is a sum of at most m = rows * taps products, and all lags together are within
    gamma_m (sum_q |V_q|_F)^2 <= gamma_m * taps * |V|_F^2 of the true ones (Higham 2002, section 3.1; Cauchy-Schwarz).
    Summing the lags with rounded cosines adds gamma_{lags + c} of the same magnitude, c below 50 for angles below 4 pi
    that are wrong in their last places. The factor 4 covers even = R + R^T and the rounding of the bound itself.
    """
    flipped = kernel.shape[1] < kernel.shape[2]
    kernel = kernel.transpose(1, 2) if flipped else kernel
    taps = kernel.shape[3:]
    by_place = kernel.permute(0, *range(3, kernel.dim()), 1, 2)
    lags = list(_half_of_lags([count - 1 for count in taps]))
    products = [_correlate(by_place, lag) for lag in lags]
    even = torch.stack([products[0], *(product + product.mT for product in products[1:])])
    odd = torch.stack([torch.zeros_like(products[0]), *(product - product.mT for product in products[1:])])
    count = math.prod(taps)
    terms = kernel.shape[1] * count + len(lags) + 50
    largest = float(kernel.square().sum(dim=tuple(range(1, kernel.dim()))).max())
    return GramSymbol(even, odd, torch.tensor(lags), 4 * terms * _UNIT * count * largest, flipped)


def _half_of_lags(degrees: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """One of each pair t, -t: R_{-t} is the transpose of R_t. Zero comes first."""
    zero = (0,) * len(degrees)
    yield zero
    for lag in itertools.product(*(range(-degree, degree + 1) for degree in degrees)):
        if lag > zero:
            yield lag


def _correlate(by_place: Tensor, lag: Sequence[int]) -> Tensor:
    """R_t = sum_q V_q^T V_{q+t} of a kernel (groups, taps..., rows, columns), one product of matrices per group."""
    here, there = by_place, by_place
    for axis, step in enumerate(lag, start=1):
        overlap = by_place.shape[axis] - abs(step)
        here, there = here.narrow(axis, max(0, -step), overlap), there.narrow(axis, max(0, step), overlap)
    groups, columns = by_place.shape[0], by_place.shape[-1]
    return here.reshape(groups, -1, columns).mT @ there.reshape(groups, -1, columns)
