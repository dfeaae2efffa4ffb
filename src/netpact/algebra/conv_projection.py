"""Matrix-Project-Conv (Arora et al. 2018, Algorithm 4), as printed, for study: other filters at every place.

    S a uniformly random subspace of dimension k p of the D = out * in * kx * ky dimensional kernels
    at each place:  M'_i = sqrt(D / (k p)) Proj_S(M_i), M_i Gaussian, i = 1..k;  A^ = (1/k) sum_i <A, M'_i> M'_i

Each A^ is unbiased. The paper's Lemma 12 says that they are p-wise independent, which is not so: given S they have the
common mean (D / (k p)) Proj_S(A), so the mean over many places keeps an error of about 1/sqrt(k p) where independent
ones would have 1/sqrt(k places). Lemmas 13 and 14 and Theorem 5.1 rest on Lemma 12 and are estimates. In a file a
convolution is coded in the form `projection` instead: one projection of the kernel for all places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from netpact.algebra.projection import Array, check_accuracy
from netpact.algebra.stream import GAUSSIAN_UNIT, Stream
from netpact.core.checks import check_integer
from netpact.core.errors import PactError


@dataclass(frozen=True, eq=False)
class LocalFilters:
    """A convolution without shared filters: filters (rows, columns, out, in, kx, ky), one kernel for each place."""

    filters: Array
    stride: int

    def apply(self, image: Array) -> Array:
        """(A^ * X)_(i,j) = A^_(i,j) applied to the window of X at (stride i, stride j), without padding.

        image  (in, height, width); the result is (out, rows, columns)
        """
        rows, columns, _, _, height, width = self.filters.shape
        windows = np.lib.stride_tricks.sliding_window_view(image, (height, width), axis=(1, 2))
        windows = windows[:, :: self.stride, :: self.stride]
        if windows.shape[1:3] != (rows, columns):
            raise PactError(
                f"the filters are for {rows} x {columns} places, the image has {windows.shape[1]} x {windows.shape[2]}",
                where="image",
            )
        return np.asarray(np.einsum("rcoixy,ircxy->orc", self.filters, windows, optimize=True))


def project_filters(
    kernel: Array, *, places: tuple[int, int], count: int, independence: int, stride: int = 1, seed: int = 0
) -> LocalFilters:
    """Algorithm 4 on a kernel (out, in, kx, ky): a kernel of its own for each of rows x columns places.

    count         k, the number of Gaussian matrices for each place
    independence  p; the subspace has k p dimensions
    """
    if kernel.ndim != 4:
        raise PactError(f"a kernel has the axes (out, in, kx, ky), got the shape {kernel.shape}", where="kernel")
    dimension = kernel.size
    subspace = count * independence
    if count < 1 or independence < 1 or subspace > dimension:
        raise PactError(
            f"must be a subspace of 1 to {dimension} dimensions, got k * p = {count} * {independence}",
            where="count",
        )
    basis = _draw_subspace(dimension, subspace, seed)
    scale = math.sqrt(dimension / subspace)
    inside = basis.T @ kernel.reshape(-1)
    filters = np.empty((places[0] * places[1], dimension))
    for place in range(len(filters)):
        drawn = Stream(seed, "filter matrices", place).gaussians(0, count * dimension) * GAUSSIAN_UNIT
        # In the coordinates of the subspace: M'_i = basis @ matrices_i, <A, M'_i> = <inside, matrices_i>.
        matrices = scale * (drawn.reshape(count, dimension) @ basis)
        filters[place] = basis @ (matrices.T @ (matrices @ inside)) / count
    return LocalFilters(filters.reshape(*places, *kernel.shape), stride)


def printed_filter_sizes(
    *, eps: float, eta: float, width: int, stride: int = 1, constant: float = 1.0
) -> tuple[int, int]:
    """k and p as Algorithm 4 prints them, for a kernel of that width; its "large enough" constant Q is not known.

    k = Q ceil(width / stride)^2 log^2(1/eta) / eps^2,   p = log(1/eta)
    """
    check_accuracy(eps=eps, eta=eta)
    for name, value in (("width", width), ("stride", stride)):
        check_integer(value, where=name, least=1)
    log = math.log(1 / eta)
    count = constant * math.ceil(width / stride) ** 2 * log**2 / eps**2
    return max(1, math.ceil(count)), max(1, math.ceil(log))


def _draw_subspace(dimension: int, size: int, seed: int) -> Array:
    """An orthonormal basis (dimension, size) of a uniformly random subspace: the span of Gaussian vectors."""
    drawn = Stream(seed, "filter subspace").gaussians(0, dimension * size) * GAUSSIAN_UNIT
    basis: Array = np.linalg.qr(drawn.reshape(dimension, size))[0]
    return basis
