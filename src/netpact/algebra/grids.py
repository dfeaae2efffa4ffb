"""How many frequencies to look at, and what the symbol can do between them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from netpact.algebra.symbol import GramSymbol
from netpact.core.seed import Seed

_SLACKS = (0.0025, 0.005, 0.01, 0.02, 0.03)  # finer grids than asked for, where they cost next to nothing
_CHEAP = 1.5e8  # floating-point operations: tens of milliseconds, as much as the lower bound takes


def choose_grid(symbol: GramSymbol, *, slack: float) -> tuple[int, ...]:
    """Points along each axis: at most `slack` is lost between them, less where that is cheap."""
    for finer in (*_SLACKS, slack):
        grid = _grid_for(symbol.degrees, min(finer, slack))
        points = math.prod(grid) / 2
        work = points * symbol.groups * (2 * symbol.size**3 + 4 * len(symbol.lags) * symbol.size**2 + 2_000)
        if work <= _CHEAP:
            break
    return grid


def _grid_for(degrees: Sequence[int], slack: float) -> tuple[int, ...]:
    active = sum(degree > 0 for degree in degrees)
    if not active:
        return (1,) * len(degrees)
    # 1 / cos(pi degree / (2 points)) is the loss of an axis; their product is to be at most 1 + slack.
    step = math.acos((1 + slack) ** (-1 / active))
    return tuple(max(1, math.ceil(math.pi * degree / (2 * step))) for degree in degrees)


def loss_between(degrees: Sequence[int], grid: Sequence[int]) -> float:
    """By how much the supremum over all frequencies can exceed the largest value on the grid.

    Let g(f) = v^H G(f) v, a trigonometric polynomial of degree D with values in [0, S], S = g(f0). Then g - S/2 has
    degree D and is at most S/2 in magnitude, so that by M. Riesz (1914), for |f - f0| <= pi / D,

        g(f) >= S/2 + S/2 cos(D (f - f0)) = S cos^2(D (f - f0) / 2)

    With n > D points the nearest is within pi / n, hence  sup G <= max_grid G / cos^2(pi D / (2 n)): the inequality of
    Ehlich and Zeller (1964), for odd and even kernels alike, as D = taps - 1. Axis after axis the factors multiply.
    """
    loss = 1.0
    for degree, count in zip(degrees, grid, strict=True):
        if count <= degree:
            raise ValueError(f"{count} frequencies do not see a polynomial of degree {degree}")
        loss /= math.cos(math.pi * degree / (2 * count)) ** 2
    return loss


def half_grid(grid: Sequence[int]) -> Tensor:
    """One of each pair f, -f, which have conjugate matrices for a real kernel. Zero first, the others in mixed order.

    Zero is where trained kernels tend to peak; a mixed order makes new peaks rare later on.
    """
    counts = torch.tensor(grid)
    points = torch.cartesian_prod(*(torch.arange(count) for count in grid)).reshape(-1, len(grid))
    places = torch.tensor([math.prod(grid[axis + 1 :]) for axis in range(len(grid))])
    opposite = (-points).remainder(counts)
    kept = points[(points * places).sum(dim=1) <= (opposite * places).sum(dim=1)]
    order = torch.randperm(len(kept) - 1, generator=Seed(0).child("frequencies").torch()) + 1
    return torch.cat([kept[:1], kept[order]])
