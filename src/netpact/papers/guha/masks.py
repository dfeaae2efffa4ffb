"""Algorithm 1 on the matrices of a network: which entries are kept, and how many of them in a row or column."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from netpact.core.checks import check_flag, check_number
from netpact.core.seed import Seed
from netpact.papers.guha.moments import weight_variance


def draw_mask(weight: Tensor, *, scale: float, seed: Seed, keep_diagonal: bool = True) -> Tensor:
    """True where an entry w stays: it is pruned with probability exp(-w^2 / (scale Psi)), and always where it is 0.

    With one seed, what a larger scale keeps is a part of what a smaller one keeps. A tensor of more axes is a matrix,
    its first axis against the others.
    """
    check_number(scale, where="scale", above=0)
    check_flag(keep_diagonal, where="keep_diagonal")
    matrix = weight.detach().flatten(1).double()
    variance = weight_variance(weight)
    drawn = torch.rand(matrix.shape, generator=seed.torch(), dtype=torch.float64)
    rate = matrix.square() / (scale * variance) if variance else torch.full_like(matrix, math.inf)
    kept = drawn >= torch.exp(-rate)
    if keep_diagonal:
        kept.fill_diagonal_(True)
    return (kept & (matrix != 0)).reshape(weight.shape)


def count_nonzeros(weight: Tensor) -> tuple[int, int]:
    """(j_r, j_c) of Definition 5.1: the most nonzero entries in a column, and in a row."""
    found = weight.detach().flatten(1) != 0
    return int(found.sum(dim=0).max()), int(found.sum(dim=1).max())
