"""How far one component of a convolution in CP form can stretch an image: the symbol of its kernel.

A component lambda b (x) a (x) C maps an image X to lambda b (C * a'X): with unit a and b its operator norm is at most
lambda times that of the convolution with the one kernel C.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from netpact.algebra.geometry import ConvolutionOptions
from netpact.algebra.grids import choose_grid, half_grid, loss_between
from netpact.algebra.plane import plane_stride
from netpact.algebra.symbol import make_symbol, split_phases

_SLACK = 0.01  # what may be lost between frequencies: 32 of them along each axis of a 3 x 3 kernel
_OUTWARD = 1 + 1e-12
_DEFAULT = ConvolutionOptions()


def component_gains(kernels: Tensor, options: ConvolutionOptions = _DEFAULT) -> Tensor:
    """For each kernel C_r of (R, kx, ky): c_r >= the operator norm of the convolution with C_r, for every image size.

        c_r = gain of the padding * min(|C_r|_1, max over the grid / cos(pi D / (2 n)) per axis)

    A stride is taken into account by its phases where the padding is of zeros (symbol.py, grids.py, geometry.py).
    """
    kernels = kernels.detach().double()
    if not len(kernels):
        return kernels.new_zeros(0)
    axes = options.along_axes(tuple(kernels.shape[1:]))
    symbol = make_symbol(split_phases(kernels[:, None, None], [plane_stride(axis, options) for axis in axes]))
    grid = choose_grid(symbol, slack=_SLACK)
    peaks = kernels.new_zeros(len(kernels))
    for part in symbol.matrices(half_grid(grid), grid):
        # One group for each kernel, and one row and column in each: phases are on the side that is multiplied out.
        peaks = torch.maximum(peaks, part.real.reshape(-1, len(kernels)).amax(dim=0))
    gain = math.prod(options.gain_by(axis) for axis in axes)
    squares = loss_between(symbol.degrees, grid) * (peaks + symbol.error)
    return gain * _OUTWARD * torch.minimum(squares.sqrt(), kernels.abs().flatten(1).sum(dim=1))


def largest_frequencies(kernels: Tensor, sides: Sequence[int]) -> Tensor:
    """max_{f, g} |C~_r^(f, g)| over the frequencies of an image of these sides (Li et al. 2020, Definition 4.2).

    The transform is unitary, as the paper's: divided by the root of how many frequencies there are.

    A kernel larger than the image is wrapped around it.
    """
    found = kernels.detach().double()
    for taps, side in zip(kernels.shape[1:], sides, strict=True):
        angles = 2 * math.pi * torch.outer(torch.arange(side), torch.arange(taps)).remainder(side).double() / side
        found = torch.tensordot(found.to(torch.complex128), torch.polar(torch.ones_like(angles), -angles), ([1], [1]))
    return found.abs().flatten(1).amax(dim=1) / math.sqrt(math.prod(sides))
