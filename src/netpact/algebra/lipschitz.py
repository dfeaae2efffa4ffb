"""How much the parts of a network without weights can enlarge a difference, in the l2 norm."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from netpact.algebra.outward import round_up_float

Sides = tuple[int, ...]

_POWER_STEPS = 12
_FLOOR = 1e-3  # keeps the vector of the power method above 0 where no window looks
_FIRST_ONLY = torch.tensor([1.0, 0.0], dtype=torch.float64)


def max_pool_constant(*, kernel: Sides, stride: Sides, dilation: Sides, windows: Sides) -> float:
    """The Lipschitz constant of max pooling: the root of how many windows an entry can be in.

        |max a - max b| <= max |a - b| <= (sum over the window |a - b|^2)^(1/2)

    Along one axis an entry is hit by tap t of window w where s w + d t is its place: t is fixed modulo s / gcd(s, d),
    so at most ceil(k gcd(s, d) / s) windows see it, and never more than there are. 3 x 3 with stride 2 gives 2.
    """
    shares = 1
    for k, s, d, n in zip(kernel, stride, dilation, windows, strict=True):
        shares *= min(n, -(-k * math.gcd(s, d) // s))
    return round_up_float(math.sqrt(shares))


def adaptive_pool_constant(*, sides: Sides, windows: Sides) -> float:
    """The same for adaptive max pooling: window w of m along an axis of n entries is

    floor(w n / m) <= place < ceil((w + 1) n / m)
    """
    shares = 1
    for n, m in zip(sides, windows, strict=True):
        shares *= max(sum(w * n // m <= place < -(-(w + 1) * n // m) for w in range(m)) for place in range(n))
    return round_up_float(math.sqrt(shares))


def mixes_samples(pick: Callable[[Tensor], Tensor], shape: tuple[int, ...]) -> bool:
    """Does taking the largest or smallest of some entries look beyond one sample? A sample of 0 and one of 1 tell."""
    own = torch.tensor([0.0, 1.0], dtype=torch.float64)
    rows = pick(own.reshape(2, *(1,) * len(shape)).expand(2, *shape))
    return rows.dim() < 1 or len(rows) != 2 or not bool((rows == own.reshape(2, *(1,) * (rows.dim() - 1))).all())


def averaging_norm(average: Callable[[Tensor], Tensor], shape: tuple[int, ...]) -> float | None:
    """The norm of a map of weighted means or sums, from above; None if it mixes samples.

        |A|_2^2 <= max_i (A^T A p)_i / p_i   for every p > 0, where all weights of A have one sign

    (Collatz and Wielandt, for the matrix A^T A.) p comes from a few steps of the power method, which make it nearly
    exact; a poor p makes the bound looser, never wrong. Windows that do not overlap give 1/sqrt(their entries).
    """
    p, ratio = torch.ones((1, *shape), dtype=torch.float64), 0.0
    for _ in range(_POWER_STEPS):
        with torch.enable_grad():
            pair = torch.cat([p, p]).requires_grad_()
            rows = average(pair)
            if rows.dim() < 1 or len(rows) != 2:
                return None
            (back,) = torch.autograd.grad(rows, pair, rows.detach() * _FIRST_ONLY.reshape(2, *(1,) * (rows.dim() - 1)))
        if bool(back[1].any()):
            return None
        ratio = float((back[:1] / p).max())
        p = back[:1] / back.max() + _FLOOR
    # A mean or sum of n entries, there and back, has a relative error of at most 2 n u.
    return round_up_float(math.sqrt(ratio * (1 + 4 * math.prod(shape) * 2.0**-52)))


def copying_norm(move: Callable[[Tensor], Tensor | tuple[Tensor, ...]], shape: tuple[int, ...]) -> list[float] | None:
    """The norm of a map that moves, copies or drops entries, for each tensor it returns; None if it mixes samples."""
    found = follow_moves(move, shape)
    return None if found is None or any(axis for _, axis in found) else [norm for norm, _ in found]


def follow_moves(
    move: Callable[[Tensor], Tensor | tuple[Tensor, ...]], shape: tuple[int, ...], axis: int = 0
) -> list[tuple[float, int]] | None:
    """The norm of a map that moves, copies or drops entries, and the axis that counts the samples behind it.

        |A|_2 = sqrt(the largest number of copies of one entry), because A^T A is diagonal

    For each tensor that it returns; None if one of them has no axis for the samples. The map is applied to the numbers
    of the entries, so the answer needs no knowledge of it. Zeros are padding. axis: that of the samples before it.
    """
    count, samples = math.prod(shape), shape[axis]
    owners = torch.arange(samples).reshape(-1, *(1,) * (len(shape) - axis - 1)).expand(shape).reshape(-1)
    moved = move(torch.arange(1, count + 1, dtype=torch.float64).reshape(shape))
    found = []
    for part in moved if isinstance(moved, (tuple, list)) else (moved,):
        numbers = part.detach().long()
        there = numbers > 0
        owner = owners[(numbers - 1).clamp(min=0)]
        places = (
            place
            for place in range(part.dim())
            if part.shape[place] == samples
            and bool((~there | (owner == torch.arange(samples).reshape(-1, *(1,) * (part.dim() - place - 1)))).all())
        )
        place = next(places, None)
        if place is None:
            return None
        copies = torch.bincount(numbers[there], minlength=1)
        found.append((round_up_float(math.sqrt(int(copies.max()))), place))
    return found
