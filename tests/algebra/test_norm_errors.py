"""Bad input is refused: what, where, what is allowed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from netpact.algebra import ConvolutionOptions, convolution_norm, matrix_norm, operator_norm
from netpact.core.errors import PactError

WEIGHT = torch.ones(4, 2, 3, 3)


class OwnConvolution(nn.Conv2d):
    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(images)


def with_nan() -> torch.Tensor:
    weight = WEIGHT.clone()
    weight[1, 1, 1, 1] = float("nan")
    return weight


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "layer": (lambda: operator_norm(nn.ReLU()), "ReLU.*allowed: Linear, Conv1d, Conv2d"),
    "subclass": (lambda: operator_norm(OwnConvolution(2, 2, 3)), "OwnConvolution.*convolution_norm"),
    "lazy": (lambda: operator_norm(nn.Bilinear(2, 2, 3)), "Bilinear"),
    "nan": (lambda: convolution_norm(with_nan()), "weight: it holds NaN or infinity"),
    "infinite": (lambda: matrix_norm(torch.tensor([[float("inf")]])), "NaN or infinity"),
    "whole numbers": (lambda: matrix_norm(torch.ones(2, 2, dtype=torch.int64)), "floating-point.*int64"),
    "not a tensor": (lambda: matrix_norm([[1.0]]), "tensor.*list"),  # type: ignore[arg-type]
    "dimensions": (lambda: convolution_norm(torch.ones(3, 3)), r"3 or 4 or 5 dimensions.*\(3, 3\)"),
    "matrix dimensions": (lambda: matrix_norm(WEIGHT), "2 dimensions"),
    "empty": (lambda: convolution_norm(torch.ones(0, 2, 3)), "with entries"),
    "groups": (lambda: convolution_norm(WEIGHT, ConvolutionOptions(groups=3)), "4 channels.*3 groups"),
    "no groups": (lambda: ConvolutionOptions(groups=0), "groups: must be an integer >= 1"),
    "stride": (lambda: ConvolutionOptions(stride=0), "stride: must be an integer >= 1, got 0"),
    "dilation": (lambda: ConvolutionOptions(dilation=(1, -1)), "dilation"),
    "padding": (lambda: ConvolutionOptions(padding=-1), "padding: must be an integer >= 0"),
    "padding word": (lambda: ConvolutionOptions(padding="full"), "padding: 'full'.*same, valid"),
    "padding of parts": (lambda: ConvolutionOptions(padding=0.5), "padding"),  # type: ignore[arg-type]
    "same with stride": (lambda: ConvolutionOptions(padding="same", stride=(1, 2)), "stride 1 only"),
    "mode": (lambda: ConvolutionOptions(padding_mode="mirror"), "allowed: zeros, circular, reflect, replicate"),
    "transposed": (lambda: ConvolutionOptions(padding_mode="reflect", transposed=True), "mode zeros"),
    "axes": (lambda: convolution_norm(WEIGHT, ConvolutionOptions(stride=(1, 2, 3))), "2 axes, but 3 numbers"),
    "image size": (lambda: convolution_norm(WEIGHT, image_size=(3, 3, 3)), "image_size: .*2 axes"),
    "image of parts": (lambda: convolution_norm(WEIGHT, image_size=0), "image_size"),
    "image too small": (lambda: convolution_norm(WEIGHT, image_size=2), "image_size: an axis of 2 pixels"),
    "reflected too far": (
        lambda: convolution_norm(WEIGHT, ConvolutionOptions(padding=4, padding_mode="reflect"), image_size=4),
        "too small.*reflect",
    ),
    "nothing left": (
        lambda: convolution_norm(WEIGHT, ConvolutionOptions(padding=2, transposed=True), image_size=2),
        "too small",
    ),
    "slack": (lambda: convolution_norm(WEIGHT, slack=0.0), "slack: .*got 0.0"),
    "slack that is no number": (lambda: convolution_norm(WEIGHT, slack=float("nan")), "slack"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_reason(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(PactError, match=message):
        call()
