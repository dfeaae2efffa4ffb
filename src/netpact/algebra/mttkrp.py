"""The tensor times all factors but one, for every mode in turn, with shared partial products (Phan et al. 2013).

    M_n[i, r] = sum over the other modes of T[..., i, ...] prod_{m != n} F_m[., r]

The modes are split in two halves, and each half again. A sweep multiplies the whole tensor twice, once with the factors
of each half; all else are contractions of what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from netpact.algebra.tensors import best_split, khatri_rao, times_khatri_rao


class Update(Protocol):
    def __call__(self, mode: int, product: Tensor, /) -> None:
        """Take M_mode, and replace the factor of the mode in the list that the sweep reads."""


def sweep_modes(tensor: Tensor, factors: Sequence[Tensor], update: Update) -> None:
    """Call update for every mode from the first to the last, each with the factors as they are then."""
    order, cut = tensor.dim(), best_split(tensor.shape)
    matrix = tensor.flatten(cut).flatten(0, cut - 1)
    _descend(times_khatri_rao(matrix, factors[cut:]), range(cut), factors, update)
    _descend(times_khatri_rao(matrix.T, factors[:cut]), range(cut, order), factors, update)


def _descend(partial: Tensor, modes: range, factors: Sequence[Tensor], update: Update) -> None:
    """partial: (entries of these modes, rank), with the factors of all other modes multiplied in."""
    if len(modes) == 1:
        update(modes[0], partial)
        return
    cut = best_split([len(factors[mode]) for mode in modes])
    left, right = modes[:cut], modes[cut:]
    after = khatri_rao([factors[mode] for mode in right])
    cube = partial.unflatten(0, (-1, len(after)))
    _descend(_contract(cube, after), left, factors, update)
    before = khatri_rao([factors[mode] for mode in left])
    _descend(_contract(cube.transpose(0, 1), before), right, factors, update)


def _contract(cube: Tensor, factor: Tensor) -> Tensor:
    """sum_k cube[i, k, r] factor[k, r], by loops over the shorter side: no third array of the cube's size."""
    result = cube.new_zeros(cube.shape[0], cube.shape[2])
    if cube.shape[0] <= cube.shape[1]:
        for row, layer in zip(result, cube, strict=True):
            row.copy_((layer * factor).sum(0))
    else:
        for index, row in enumerate(factor):
            result.addcmul_(cube[:, index], row)
    return result
