"""The exact CP form of a layer without iteration (Li et al. 2020, Proposition 4.1)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from netpact.algebra.cp import CPDecomposition, sorted_components
from netpact.algebra.tensors import prepare_tensor, residual_norm

Components = tuple[Tensor, list[Tensor]]


def polyadic_form(tensor: Tensor | NDArray[np.floating]) -> CPDecomposition:
    """A convolution's kernel (out, in, kx, ...) as a sum of rank-one tensors that is the kernel itself, up to rounding.

        rank <= min(in out, in kx ky, out kx ky)

    The smaller of two forms: the singular values of the kx*ky slices (out, in), without those at rounding level;
    or one component for each kernel, of an input and an output, that is not 0. A matrix has one slice: its SVD.
    """
    values, exponent = prepare_tensor(tensor)
    kernel = values.double().reshape(*values.shape[:2], -1)
    weights, factors = _slices(kernel)
    if int(kernel.any(dim=2).sum()) < len(weights):
        weights, factors = _kernels(kernel)
    norm = float(kernel.norm())
    error = residual_norm(kernel.flatten(1), factors[:1], factors[1:], weights) / norm if norm else 0.0
    weights, found = sorted_components(weights, factors, exponent=exponent)
    return CPDecomposition(weights, found[: values.dim()], tuple(values.shape), error)


def _slices(kernel: Tensor) -> Components:
    """M = sum_k (sum_r sigma_kr u_kr (x) v_kr) (x) e_k"""
    left, sizes, right = torch.linalg.svd(kernel.movedim(2, 0), full_matrices=False)
    rounding = torch.finfo(kernel.dtype).eps * max(kernel.shape[:2])
    slices, places = torch.nonzero(sizes > rounding * sizes[:, :1], as_tuple=True)
    unit = torch.eye(kernel.shape[2], dtype=kernel.dtype)
    return sizes[slices, places], [left[slices, :, places].T, right[slices, places].T, unit[:, slices]]


def _kernels(kernel: Tensor) -> Components:
    """M = sum_{o, i} |M_oi| e_o (x) e_i (x) M_oi / |M_oi|"""
    sizes = kernel.norm(dim=2)
    outputs, inputs = torch.nonzero(sizes, as_tuple=True)
    kept = sizes[outputs, inputs]
    units = [torch.eye(size, dtype=kernel.dtype) for size in kernel.shape[:2]]
    return kept, [units[0][:, outputs], units[1][:, inputs], (kernel[outputs, inputs] / kept[:, None]).T]
