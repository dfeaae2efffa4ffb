"""What each padding can add, image by image; and images on which a smaller factor would be wrong."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from algebra.dense_layers import dense_norm, fill
from torch import nn

from netpact.algebra import PADDING_MODES, Axis, ConvolutionOptions, convolution_norm, operator_norm
from netpact.algebra.waves import convolve

MODES = ["circular", "reflect", "replicate"]


def line(taps: list[float], *, padding: int | str, mode: Any, stride: int = 1, dilation: int = 1) -> nn.Conv1d:
    layer = nn.Conv1d(1, 1, len(taps), stride=stride, padding=padding, dilation=dilation, padding_mode=mode, bias=False)
    layer.weight = nn.Parameter(torch.tensor(taps).reshape(1, 1, -1))
    return layer


@pytest.mark.parametrize("mode", MODES)
def test_every_small_image_stays_within_the_bound(mode: str) -> None:
    """Kernels of one sign and of mixed signs, paddings up to 4, images up to 7 pixels that torch accepts."""
    for taps, padding, stride, dilation in itertools.product(
        ([1.0], [1.0, 1.0], [1.0, -1.0], [1.0, 0.0, 0.0, 1.0], [1.0, -2.0, 0.5]), (0, 1, 2, 4), (1, 2, 3), (1, 2)
    ):
        layer = line(taps, padding=padding, mode=mode, stride=stride, dilation=dilation)
        upper = operator_norm(layer).upper
        for pixels in (1, 2, 3, 4, 5, 7):
            fits = pixels + 2 * padding > dilation * (len(taps) - 1)
            if not fits or pixels < {"circular": padding, "reflect": padding + (padding > 0)}.get(mode, 1):
                continue
            assert dense_norm(layer, (1, pixels)) <= upper * (1 + 1e-12), (taps, padding, stride, dilation, pixels)


# layer, image, the norm that a factor without the argument of geometry.py would promise, and the true one
TOO_SMALL = {
    "reflect: a pixel three times": (line([1.0], padding=1, mode="reflect"), 3, math.sqrt(2), math.sqrt(3)),
    "replicate: a single pixel": (line([1.0], padding=1, mode="replicate"), 1, math.sqrt(2), math.sqrt(3)),
    "circular: more outputs than pixels": (line([1.0], padding=1, mode="circular"), 2, 1.0, math.sqrt(2)),
    "circular: a stride that does not divide": (
        line([1.0, 1.0], padding=1, mode="circular", stride=2),
        3,
        math.sqrt(2),  # the polyphase symbol
        math.sqrt(3),
    ),
}


@pytest.mark.parametrize("name", TOO_SMALL)
def test_a_smaller_factor_would_be_wrong(name: str) -> None:
    layer, pixels, claimed, true = TOO_SMALL[name]
    assert dense_norm(layer, (1, pixels)) == pytest.approx(true)
    assert claimed < true <= operator_norm(layer).upper


@pytest.mark.parametrize(
    ("mode", "padding", "taps", "gain"),
    [
        ("zeros", 7, 3, 1),
        ("circular", 1, 3, 1),
        ("circular", 1, 2, math.sqrt(2)),
        ("circular", 1, 1, math.sqrt(3)),
        ("reflect", 0, 3, 1),
        ("reflect", 1, 3, math.sqrt(2)),
        ("reflect", 3, 7, math.sqrt(2)),
        ("reflect", 1, 1, 2),
        ("replicate", 0, 3, 1),
        ("replicate", 2, 5, math.sqrt(3)),
        ("replicate", 1, 1, math.sqrt(3)),
    ],
)
def test_gains(mode: str, padding: int, taps: int, gain: float) -> None:
    options = ConvolutionOptions(padding=padding, padding_mode=mode)
    (axis,) = options.along_axes((taps,))
    assert options.gain_by(axis) == pytest.approx(gain)


def test_the_gains_of_two_axes_multiply() -> None:
    weight = torch.randn(2, 2, 3, 3, generator=torch.Generator().manual_seed(3))
    plane = convolution_norm(weight).upper
    for mode, padding, gain in (("reflect", (1, 1), 2), ("reflect", (0, 1), 2**0.5), ("replicate", (1, 2), 6**0.5)):
        options = ConvolutionOptions(padding=padding, padding_mode=mode)
        assert convolution_norm(weight, options).upper == pytest.approx(gain * plane)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")  # torch's, on its own copy
@pytest.mark.parametrize("mode", PADDING_MODES)
@pytest.mark.parametrize("padding", [0, (1, 2), "same", "valid"])
def test_convolve_is_what_the_layer_does(mode: Any, padding: int | tuple[int, int] | str) -> None:
    layer = nn.Conv2d(4, 6, (3, 4), padding=padding, dilation=(2, 1), groups=2, padding_mode=mode, bias=False)
    fill(layer, seed=9, kind="plain")
    options = ConvolutionOptions(padding=padding, dilation=(2, 1), groups=2, padding_mode=mode)
    images = torch.randn(2, 4, 9, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.allclose(convolve(images, layer.weight, options), layer(images), atol=1e-5)


def test_axis_arithmetic() -> None:
    axis = Axis(taps=3, stride=2, dilation=2, before=1, after=2)
    assert (axis.reach, axis.surplus, axis.positions(8), axis.positions(1)) == (4, -1, 4, 0)
    (same,) = ConvolutionOptions(padding="same").along_axes((4,))
    assert (same.before, same.after, same.surplus) == (1, 2, 0)
