"""What a convolution does along each axis of the image, and what its padding can add to its norm.

A convolution with zeros around the image is a part of the convolution of the infinite plane: rows and columns left out.
The other paddings repeat pixels, and the factor by which that can raise the norm is proven axis by axis for every image
that the padding accepts. Below, an axis has n pixels, `before` and `after` pixels are added, and n + surplus positions
are left for the kernel, surplus = before + after - dilation * (taps - 1).

    circular   rows of a circulant matrix of size n: every run of n positions is within the norm of the plane, and the
               positions are at most ceil((n + surplus) / n) runs. So is the share of runs the square of the factor.
    reflect    the image is continued to a period of 2n - 2, which holds each pixel at most twice: as above with that
               period, and a factor of sqrt 2 for the continuation.
    replicate  an edge pixel stands 1 + max(before, after) times in the padded image, if n > 1. With n = 1 the padded
               image is constant, and the 1 + surplus outputs are all the symbol at frequency 0 times the pixel.

These arguments need every position, so for these modes the norm of the plane is the one of stride 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from netpact.core.checks import check_choice, check_integer
from netpact.core.errors import PactError


@dataclass(frozen=True)
class Axis:
    """A convolution along one axis of the image."""

    taps: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def reach(self) -> int:
        """From the first tap to the last, in pixels."""
        return self.dilation * (self.taps - 1)

    @property
    def surplus(self) -> int:
        """How many more positions than pixels there are at stride 1."""
        return self.before + self.after - self.reach

    def positions(self, pixels: int) -> int:
        """How many outputs an axis of so many pixels has; below 1 where the kernel does not fit."""
        return (pixels + self.surplus - 1) // self.stride + 1


def _no_gain(axis: Axis) -> float:
    return 1.0


def _circular_gain(axis: Axis) -> float:
    if axis.surplus <= 0:
        return 1.0
    fewest = max(axis.before, axis.after)  # torch wraps around once at most
    return math.sqrt(1 + math.ceil(axis.surplus / fewest))


def _reflect_gain(axis: Axis) -> float:
    fewest = max(axis.before, axis.after) + 1  # the edge itself is not repeated
    if fewest == 1:
        return 1.0
    runs = math.ceil((fewest + max(axis.surplus, 0)) / (2 * fewest - 2))  # most for the smallest image
    return math.sqrt(2 * runs)


def _replicate_gain(axis: Axis) -> float:
    return math.sqrt(1 + max(axis.before, axis.after, axis.surplus))


# By padding mode: what the norm of the plane is multiplied with, one factor per axis.
_GAINS: dict[str, Callable[[Axis], float]] = {
    "zeros": _no_gain,
    "circular": _circular_gain,
    "reflect": _reflect_gain,
    "replicate": _replicate_gain,
}
PADDING_MODES = tuple(_GAINS)


@dataclass(frozen=True)
class ConvolutionOptions:
    """How a kernel is applied, with the names, meanings and defaults of torch; numbers hold for every axis.

    transposed  the adjoint map, torch's conv_transpose; its padding crops the output, and zeros is its only mode
    """

    stride: int | tuple[int, ...] = 1
    padding: int | tuple[int, ...] | str = 0
    dilation: int | tuple[int, ...] = 1
    groups: int = 1
    padding_mode: str = "zeros"
    transposed: bool = False

    def __post_init__(self) -> None:
        for option, least in (("stride", 1), ("dilation", 1), ("groups", 1), ("padding", 0)):
            _check_entries(getattr(self, option), least=least, option=option)
        check_choice(self.padding_mode, _GAINS, where="padding_mode")
        if self.transposed and (self.padding_mode != "zeros" or isinstance(self.padding, str)):
            raise PactError(
                f"a transposed convolution must have padding in numbers and mode zeros, got {self.padding!r}, "
                f"{self.padding_mode!r}",
                where="padding",
            )
        if self.padding == "same" and _most(self.stride) > 1:
            raise PactError("padding 'same' is defined for stride 1 only", where="padding")

    @property
    def gain_by(self) -> Callable[[Axis], float]:
        return _GAINS[self.padding_mode]

    def along_axes(self, taps: tuple[int, ...]) -> tuple[Axis, ...]:
        """The axes of a kernel with so many taps along each."""
        strides, dilations = (_spread(value, len(taps)) for value in (self.stride, self.dilation))
        axes = []
        for index, (count, stride, dilation) in enumerate(zip(taps, strides, dilations, strict=True)):
            if self.padding == "same":
                total = dilation * (count - 1)
                before, after = total // 2, total - total // 2
            elif isinstance(self.padding, str):  # "valid": the only other word
                before = after = 0
            else:
                before = after = _spread(self.padding, len(taps))[index]
            axes.append(Axis(count, stride, dilation, before, after))
        return tuple(axes)


_PADDING_WORDS = ("same", "valid")


def _check_entries(value: object, *, least: int, option: str) -> None:
    """An integer, or a tuple of one per axis; groups are one integer, padding may be a word."""
    if option == "padding" and isinstance(value, str):
        check_choice(value, _PADDING_WORDS, where=option)
        return
    for entry in value if isinstance(value, tuple) and value and option != "groups" else (value,):
        check_integer(entry, where=option, least=least)


def _most(value: int | tuple[int, ...]) -> int:
    return value if isinstance(value, int) else max(value)


def _spread(value: int | tuple[int, ...], axes: int) -> tuple[int, ...]:
    if isinstance(value, int):
        return (value,) * axes
    if len(value) != axes:
        raise PactError(f"the kernel has {axes} axes, but {len(value)} numbers are given: {value}", where="options")
    return value
