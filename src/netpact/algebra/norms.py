"""True operator norms of layers: max |A x| / |x|, from below and from above, both proven, rounding included."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from netpact.algebra.geometry import Axis, ConvolutionOptions
from netpact.algebra.inputs import per_axis, prepare_weight, scale_down, scale_up
from netpact.algebra.plane import Plane, bound_plane
from netpact.algebra.waves import image_sizes, make_wave, stretch
from netpact.core.checks import check_number
from netpact.core.errors import PactError

_OUTWARD = 1 + 1e-12  # the last few operations on the bound itself
_SLACK = 0.047  # 15 frequencies along each axis of a 3 x 3 kernel
_STEP_WORK, _MOST_STEPS = 2e8, 30  # floating-point operations for the power iteration, and its most steps


class OperatorNorm(NamedTuple):
    """lower <= |A|_op <= upper, with A the layer without its bias.

    For a convolution, upper holds for every image size; lower for images of the stated size, and for all larger ones
    where the padding is of zeros.
    """

    lower: float
    upper: float


def operator_norm(
    layer: nn.Module, *, image_size: int | Sequence[int] | None = None, slack: float = _SLACK
) -> OperatorNorm:
    """The operator norm of a linear, convolution or transposed convolution layer, in the Euclidean norms.

    image_size  for the lower bound of a convolution: pixels along each axis of its input (default: 32)
    slack       for the upper bound of a convolution: the share by which it may exceed the norm on the infinite plane;
                smaller takes longer; a finer grid is used anyway if it is cheap
    """
    if type(layer) is nn.Linear:
        return matrix_norm(layer.weight)
    if not isinstance(layer, _CONVOLUTIONS) or type(layer) not in _CONVOLUTIONS:
        raise PactError(
            f"no operator norm is known for it; allowed: {', '.join(k.__name__ for k in (nn.Linear, *_CONVOLUTIONS))}",
            where=type(layer).__name__,
            hint="a subclass may compute something else: give its weight to matrix_norm or convolution_norm",
        )
    options = ConvolutionOptions(
        layer.stride, layer.padding, layer.dilation, layer.groups, layer.padding_mode, layer.transposed
    )
    return convolution_norm(layer.weight, options, image_size=image_size, slack=slack)


_CONVOLUTIONS = (
    *(nn.Conv1d, nn.Conv2d, nn.Conv3d),
    *(nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d),
)


def matrix_norm(weight: Tensor) -> OperatorNorm:
    """The largest singular value of a matrix: both bounds agree to about nine digits."""
    matrix, exponent = prepare_weight(weight, dimensions=(2,))
    if not bool(matrix.any()):
        return OperatorNorm(0.0, 0.0)
    one_tap = ConvolutionOptions()
    plane = bound_plane(matrix[:, :, None], one_tap.along_axes((1,)), one_tap, slack=_SLACK)
    direction = plane.channels.real / plane.channels.real.norm()
    # |fl(W^T u) - W^T u| <= gamma_n |W|_F |u|
    error = 4 * len(matrix) * 2.0**-53 * float(matrix.norm())
    lower = max(0.0, (float((matrix.mT @ direction).norm()) - error) * (1 - 1e-12))
    return OperatorNorm(scale_down(lower, exponent), scale_up(math.sqrt(plane.squared_norm) * _OUTWARD, exponent))


def convolution_norm(
    weight: Tensor,
    options: ConvolutionOptions = ConvolutionOptions(),  # noqa: B008  frozen
    *,
    image_size: int | Sequence[int] | None = None,
    slack: float = _SLACK,
) -> OperatorNorm:
    """The operator norm of the convolution with torch's weight (out, in / groups, taps...), up to three axes.

        |A|_op <= gain of the padding * sup_f lambda_max(G(f))^(1/2)        (geometry.py, symbol.py)
        sup_f <= max over the grid / cos^2(pi D / (2 n)) per axis           (grids.py)

    The maximum over the grid is proven by Cholesky factorisations (eigenvalues.py). The lower bound is what the layer
    itself does to an image (waves.py).
    """
    kernel, exponent, axes = _prepare_kernel(weight, options, slack=slack)
    sizes = image_sizes(axes, options, per_axis(image_size, len(axes)))
    if not bool(kernel.any()):
        return OperatorNorm(0.0, 0.0)
    plane = bound_plane(kernel, axes, options, slack=slack)
    places = sizes if options.transposed else [axis.positions(size) for axis, size in zip(axes, sizes, strict=True)]
    steps = min(_MOST_STEPS, max(1, int(_STEP_WORK / (4 * kernel.numel() * math.prod(places)))))
    with torch.inference_mode(False), torch.enable_grad():
        # What was made in inference mode cannot be differentiated through: copies can.
        wave = make_wave(plane.channels.clone(), plane.turns, places)
        lower = stretch(kernel.clone(), options, wave, sizes=sizes, steps=steps)
    return OperatorNorm(scale_down(lower, exponent), scale_up(_above(plane, axes, options), exponent))


def convolution_norm_above(weight: Tensor, options: ConvolutionOptions, *, slack: float = _SLACK) -> float:
    """The upper bound of convolution_norm by itself, without the work for the lower one."""
    kernel, exponent, axes = _prepare_kernel(weight, options, slack=slack)
    if not bool(kernel.any()):
        return 0.0
    return scale_up(_above(bound_plane(kernel, axes, options, slack=slack), axes, options), exponent)


def _prepare_kernel(
    weight: Tensor, options: ConvolutionOptions, *, slack: float
) -> tuple[Tensor, int, tuple[Axis, ...]]:
    check_number(slack, where="slack", above=0, most=1)
    kernel, exponent = prepare_weight(weight, dimensions=(3, 4, 5))
    if kernel.shape[0] % options.groups:
        raise PactError(f"{kernel.shape[0]} channels do not split into {options.groups} groups", where="groups")
    return kernel, exponent, options.along_axes(tuple(kernel.shape[2:]))


def _above(plane: Plane, axes: Sequence[Axis], options: ConvolutionOptions) -> float:
    gain = math.prod(options.gain_by(axis) for axis in axes)
    return gain * math.sqrt(plane.squared_norm) * _OUTWARD
