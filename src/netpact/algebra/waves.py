"""Lower bounds: a convolution is run on images of a stated size, starting from what the symbol says is worst."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from netpact.algebra.geometry import Axis, ConvolutionOptions
from netpact.core.errors import PactError

_UNIT = 2.0**-53
_PAD_MODES = {"zeros": "constant", "circular": "circular", "reflect": "reflect", "replicate": "replicate"}
_CONVOLVE = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
_TRANSPOSED = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}


def convolve(images: Tensor, weight: Tensor, options: ConvolutionOptions) -> Tensor:
    """What torch's layer with these options does, without its bias."""
    axes = options.along_axes(tuple(weight.shape[2:]))
    strides, dilations = [axis.stride for axis in axes], [axis.dilation for axis in axes]
    if options.transposed:
        crops = [axis.before for axis in axes]
        return _TRANSPOSED[len(axes)](images, weight, None, strides, crops, 0, options.groups, dilations)
    around = [entry for axis in reversed(axes) for entry in (axis.before, axis.after)]
    if any(around):
        images = functional.pad(images, around, mode=_PAD_MODES[options.padding_mode])
    return _CONVOLVE[len(axes)](images, weight, None, strides, 0, dilations, options.groups)


def image_sizes(axes: Sequence[Axis], options: ConvolutionOptions, asked: Sequence[int] | None) -> tuple[int, ...]:
    """The image that a lower bound is computed on: 32 pixels along each axis, or as many as the kernel needs."""
    if asked is None:
        return tuple(max(32, axis.reach + 1, axis.before + axis.after + 1) for axis in axes)
    for axis, pixels in zip(axes, asked, strict=True):
        around = max(axis.before, axis.after)
        least = {"circular": around, "reflect": around + 1 if around else 1}.get(options.padding_mode, 1)
        outputs = (pixels - 1) * axis.stride - axis.surplus + 1 if options.transposed else axis.positions(pixels)
        if pixels < least or outputs < 1:
            raise PactError(
                f"an axis of {pixels} pixels is too small for {axis.taps} taps, dilation {axis.dilation} and "
                f"{options.padding_mode} padding of {axis.before} and {axis.after}",
                where="image_size",
                hint="state a larger one, or none",
            )
    return tuple(asked)


def make_wave(channels: Tensor, turns: Sequence[float], sizes: Sequence[int]) -> Tensor:
    """Re(channels exp(i f m)) under a half sine along each axis, which keeps it away from the borders."""
    # The phase for which the real part is largest: sum of squares real and positive.
    square = complex((channels * channels).sum())
    if square != 0:
        channels = channels * (square.conjugate() / abs(square)) ** 0.5
    wave = channels.reshape(1, -1, *(1,) * len(sizes)).to(torch.complex128)
    for axis, (turn, pixels) in enumerate(zip(turns, sizes, strict=True)):
        places = torch.arange(pixels, dtype=torch.float64)
        window = torch.sin(math.pi * (places + 1) / (pixels + 1))
        factor = torch.polar(window, 2 * math.pi * turn * places)
        wave = wave * factor.reshape(-1, *(1,) * (len(sizes) - 1 - axis))
    return wave.real.contiguous()


def stretch(weight: Tensor, options: ConvolutionOptions, wave: Tensor, *, sizes: Sequence[int], steps: int) -> float:
    """max |A x| / |x| over the images x that power iteration meets: a lower bound on |A|_op for images of this size.

    The wave stands where the kernel's outputs are: an image for a transposed convolution, otherwise A^T gives one.
    Rounding: |fl(A x) - A x| <= gamma_n | |A| |x| |, n = products per output, and the matrix of absolute values |A| is
    within the gain of the padding times sum_taps |W_tap|_F <= sqrt(taps) |W|_F. A factor 4 covers the rest.
    """
    taps = tuple(weight.shape[2:])
    gain = math.prod(options.gain_by(axis) for axis in options.along_axes(taps))
    rounding = 4 * (weight[0].numel() + weight[:, 0].numel()) * _UNIT
    error = rounding * gain * math.sqrt(math.prod(taps)) * float(weight.norm())
    best = 0.0
    image = wave if options.transposed else _run_back(wave, weight, options, sizes)
    for step in range(steps + 1):
        size = float(image.norm())
        if size == 0:
            break
        image = (image / size).requires_grad_()
        output = convolve(image, weight, options)
        best = max(best, (float(output.detach().norm()) - error) * (1 - 1e-12))
        if step < steps:
            (image,) = torch.autograd.grad(output, image, output.detach())
    return best


def _run_back(output: Tensor, weight: Tensor, options: ConvolutionOptions, sizes: Sequence[int]) -> Tensor:
    """A^T for zeros around the image; for other paddings close enough to start from."""
    axes = options.along_axes(tuple(weight.shape[2:]))
    strides, dilations = [axis.stride for axis in axes], [axis.dilation for axis in axes]
    image = _TRANSPOSED[len(axes)](output, weight, None, strides, 0, 0, options.groups, dilations)
    frame = []
    for axis, pixels, present in reversed(list(zip(axes, sizes, image.shape[2:], strict=True))):
        frame += [-axis.before, pixels + axis.before - present]
    return functional.pad(image, frame)
