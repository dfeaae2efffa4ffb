"""Tensors of any order as decompositions take them: checked, scaled, and multiplied with their factors.

A tensor is seen as one matrix, its first modes by the others. Khatri-Rao products of one side come in blocks of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netpact.core.errors import PactError, wrong_kind

_DOUBLE_UP_TO = 2**16  # entries: a small tensor costs little in double precision, whatever it came in
_BLOCK = 2**18  # numbers in a block of a Khatri-Rao product: 1 MiB in single precision, it stays in the cache


def prepare_tensor(tensor: Tensor | NDArray[np.floating], *, least_order: int = 2) -> tuple[Tensor, int]:
    """The tensor times 2^-exponent, its largest entry between 1/2 and 1 (or all 0), and the exponent.

    Large tensors of single precision or less stay in single precision, all others become double.
    """
    values = _from_numpy(tensor) if isinstance(tensor, np.ndarray) and tensor.dtype.kind == "f" else tensor
    if not isinstance(values, Tensor) or not values.is_floating_point():
        raise wrong_kind(tensor, needed="a torch tensor or numpy array of floating-point numbers", where="tensor")
    if values.layout != torch.strided or values.is_meta:
        raise PactError("must be a dense tensor with values", where="tensor", hint="use .to_dense()")
    if values.dim() < least_order or values.numel() == 0:
        needed = f"must have entries and at least {least_order} modes"
        raise PactError(f"{needed}, got shape {tuple(values.shape)}", where="tensor")
    if not bool(torch.isfinite(values).all()):
        raise PactError("it holds NaN or infinity", where="tensor", hint="the training may have diverged")
    double = values.dtype == torch.float64 or values.numel() <= _DOUBLE_UP_TO
    exponent = math.frexp(float(values.detach().abs().max()))[1]
    scaled = torch.ldexp(values.detach().to("cpu", torch.float64), torch.tensor(-exponent))
    return scaled.to(torch.float64 if double else torch.float32).contiguous(), exponent


def _from_numpy(array: NDArray[np.floating]) -> Tensor:
    """A copy: torch takes neither read-only arrays, nor reversed ones, nor the other order of bytes."""
    return torch.from_numpy(np.array(array, dtype=np.float64 if array.dtype.itemsize > 4 else np.float32, order="C"))


def best_split(shape: Sequence[int]) -> int:
    """How many modes stand on the left, so that both sides of the matrix are as short as they can be together."""
    return min(range(1, len(shape)), key=lambda cut: math.prod(shape[:cut]) + math.prod(shape[cut:]))


def unfold(tensor: Tensor, mode: int) -> Tensor:
    return tensor.movedim(mode, 0).reshape(tensor.shape[mode], -1)


def leading_vectors(matrix: Tensor, count: int) -> Tensor:
    """Left singular vectors of the largest singular values; fewer than count where the matrix has fewer."""
    triangle = torch.linalg.qr(matrix.T, mode="r").R  # a Gram matrix would be as small, and lose half of the digits
    return torch.linalg.svd(triangle.T, full_matrices=False).U[:, :count].contiguous()


def khatri_rao(factors: Sequence[Tensor]) -> Tensor:
    """Column r is the Kronecker product of the columns r of all factors."""
    product = factors[0]
    for factor in factors[1:]:
        product = (product[:, None] * factor).flatten(0, 1)
    return product


def khatri_rao_blocks(factors: Sequence[Tensor]) -> Iterator[tuple[slice, Tensor]]:
    """The Khatri-Rao product, block of rows by block: the rows, and what stands in them."""
    first, others = factors[0], factors[1:]
    if not others:
        yield slice(0, len(first)), first
        return
    tail = khatri_rao(others)
    step = max(1, _BLOCK // max(1, tail.numel()))
    for start in range(0, len(first), step):
        block = khatri_rao([first[start : start + step], tail])
        yield slice(start * len(tail), start * len(tail) + len(block)), block


def times_khatri_rao(matrix: Tensor, factors: Sequence[Tensor]) -> Tensor:
    """The matrix times the Khatri-Rao product, which is never formed as a whole."""
    product = matrix.new_zeros(matrix.shape[0], factors[0].shape[1])
    for rows, block in khatri_rao_blocks(factors):
        product.addmm_(matrix[:, rows], block)
    return product


def residual_norm(matrix: Tensor, left: Sequence[Tensor], right: Sequence[Tensor], weights: Tensor) -> float:
    """|T - sum_r weights_r left_r right_r^T| in the Frobenius norm, block by block."""
    rows = khatri_rao(left) * weights
    squares = 0.0
    for columns, block in khatri_rao_blocks(right):
        rest = torch.addmm(matrix[:, columns], rows, block.T, alpha=-1)
        squares += float(torch.linalg.vector_norm(rest, dtype=torch.float64)) ** 2
    return math.sqrt(squares)
