"""The norm of a convolution on the infinite plane, from above, and the wave of outputs that it stretches most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from netpact.algebra.eigenvalues import bound_eigenvalues
from netpact.algebra.geometry import Axis, ConvolutionOptions
from netpact.algebra.grids import choose_grid, half_grid, loss_between
from netpact.algebra.symbol import make_symbol, split_phases

_EXACT_MARGIN, _GRID_MARGIN = 1e-10, 2e-3  # of the largest eigenvalue: one matrix, and many frequencies


@dataclass(frozen=True, eq=False)
class Plane:
    """squared_norm  proven: at least the square of the norm
    channels      the worst wave's complex amplitude in each output channel
    turns         its frequency along each axis, in turns for a step to the next output
    """

    squared_norm: float
    channels: Tensor
    turns: tuple[float, ...]


def bound_plane(kernel: Tensor, axes: Sequence[Axis], options: ConvolutionOptions, *, slack: float) -> Plane:
    """The bound is at most 1 + slack times the norm; a single frequency is enough, and exact, for one tap."""
    strides = [plane_stride(axis, options) for axis in axes]
    blocks = split_phases(kernel.unflatten(0, (options.groups, -1)), strides)
    symbol = make_symbol(blocks)
    margin = min(_GRID_MARGIN, slack / 5) if any(symbol.degrees) else _EXACT_MARGIN
    grid = choose_grid(symbol, slack=(1 + slack) / math.sqrt(1 + margin) - 1)
    points = half_grid(grid)
    peak = bound_eigenvalues(symbol.matrices(points, grid), margin=margin)
    point, group = divmod(peak.place, options.groups)
    turns = [int(step) / count for step, count in zip(points[point], grid, strict=True)]
    if symbol.flipped:
        amplitude, turns = peak.vector, [-turn for turn in turns]
    else:
        amplitude = _apply_symbol(blocks[group], turns, peak.vector)
    channels = torch.zeros(blocks.shape[:2], dtype=torch.complex128)
    channels[group] = amplitude.to(torch.complex128)
    steps = [axis.stride / (stride * axis.dilation) for axis, stride in zip(axes, strides, strict=True)]
    return Plane(
        loss_between(symbol.degrees, grid) * (peak.bound + symbol.error),
        channels.flatten(),
        tuple(turn * step for turn, step in zip(turns, steps, strict=True)),
    )


def plane_stride(axis: Axis, options: ConvolutionOptions) -> int:
    """The stride of the convolution on the plane: only zeros keep it; a part shared with the dilation does nothing."""
    return axis.stride // math.gcd(axis.stride, axis.dilation) if options.padding_mode == "zeros" else 1


def _apply_symbol(kernel: Tensor, turns: Sequence[float], vector: Tensor) -> Tensor:
    """P(f) v = sum_q V_q v exp(i f q)"""
    mixed = kernel.to(torch.complex128)
    for turn in reversed(turns):
        places = torch.arange(mixed.shape[-1], dtype=torch.float64)
        mixed = mixed @ torch.polar(torch.ones_like(places), 2 * math.pi * turn * places)
    return mixed @ vector.to(torch.complex128)
